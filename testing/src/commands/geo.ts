/**
 * Places in sorted sets: GEOADD, distances, and searches around a place.
 */

import {
  distanceBetween,
  distanceInside,
  END_OF_SCORES,
  MAX_LATITUDE,
  type Place,
  placeOfScore,
  type Shape,
  scoreOfPlace,
  textOfScore,
} from "../keyspace/geohash";
import { SortedSetValue } from "../keyspace/sorted-set-value";
import { floatOf, integerOf } from "../protocol/numbers";
import { ErrorReply, NULL_ARRAY, type ReplyValue } from "../protocol/reply";
import type { Caller, Handlers } from "../server/model";
import { at, following, syntaxError, word } from "./arguments";
import { coordinate } from "./scores";
import { addToSortedSet, storeSortedSet } from "./sorted-sets";

const METERS: Readonly<Record<string, number>> = { M: 1, KM: 1000, FT: 0.3048, MI: 1609.34 };

function unitOf(text: string): number {
  const meters = METERS[text.toUpperCase()];
  if (meters === undefined) throw new ErrorReply("ERR unsupported unit provided. please use M, KM, FT, MI");
  return meters;
}

function placeOf(longitudeText: string, latitudeText: string): Place {
  const longitude = floatOf(longitudeText);
  const latitude = floatOf(latitudeText);
  if (Math.abs(longitude) > 180 || Math.abs(latitude) > MAX_LATITUDE) {
    const pair = `${longitude.toFixed(6)},${latitude.toFixed(6)}`;
    throw new ErrorReply(`ERR invalid longitude,latitude pair ${pair}`);
  }
  return { longitude, latitude };
}

function distanceText(meters: number, unit: number): string {
  return (meters / unit).toFixed(4);
}

const ADD_OPTIONS: ReadonlySet<string> = new Set(["NX", "XX", "CH"]);

function geoadd(caller: Caller, args: readonly string[]): ReplyValue {
  let from = 2;
  while (from < args.length && ADD_OPTIONS.has(word(args, from))) from++;
  const options = args.slice(2, from);
  const isBoth = ["NX", "XX"].every((name) => options.some((option) => option.toUpperCase() === name));
  if ((args.length - from) % 3 !== 0 || isBoth) throw syntaxError();
  const pairs: string[] = [];
  for (let index = from; index < args.length; index += 3) {
    const place = placeOf(at(args, index), at(args, index + 1));
    pairs.push(String(scoreOfPlace(place)), at(args, index + 2));
  }
  return addToSortedSet(caller, ["zadd", at(args, 1), ...options, ...pairs]);
}

function scoresOf(caller: Caller, args: readonly string[]): (number | undefined)[] {
  const zset = caller.database.read(at(args, 1), SortedSetValue);
  return args.slice(2).map((member) => zset?.scoreOf(member));
}

function geodist(caller: Caller, args: readonly string[]): ReplyValue {
  if (args.length > 5) throw syntaxError();
  const unit = args.length === 5 ? unitOf(at(args, 4)) : 1;
  const [one, other] = scoresOf(caller, args.slice(0, 4));
  if (one === undefined || other === undefined) return null;
  return distanceText(distanceBetween(placeOfScore(one), placeOfScore(other)), unit);
}

function coordinates(caller: Caller, { longitude, latitude }: Place): ReplyValue {
  return [coordinate(caller, longitude), coordinate(caller, latitude)];
}

/** The form of a search command: the positions of its arguments, and whether it may store. */
interface Dialect {
  /** GEOSEARCH and its store, or GEORADIUS (around a place) or GEORADIUSBYMEMBER. */
  readonly kind: "search" | "place" | "member";
  readonly mayStore: boolean;
  /** GEOSEARCHSTORE: the target precedes the source. */
  readonly isStore: boolean;
}

/** Without a member there is no place. */
function missingMember(caller: Caller, member: string): string {
  if (caller.engine.version.product === "valkey") return `ERR member ${member} does not exist`;
  return "ERR could not decode requested zset member";
}

class Search {
  centre: Place | null = null;
  hasOrigin = false;
  size: Omit<Shape, "centre"> | null = null;
  unit = 1;
  withDistance = false;
  withHash = false;
  withPlace = false;
  order: "ASC" | "DESC" | null = null;
  count = 0;
  isAny = false;
  target: string | null = null;
  storesDistance = false;

  constructor(
    private readonly caller: Caller,
    readonly source: SortedSetValue | undefined,
    private readonly dialect: Dialect,
  ) {}

  get isSearch(): boolean {
    return this.dialect.kind === "search";
  }

  /** The place of a member; nothing if there is no key. */
  around(member: string): void {
    this.hasOrigin = true;
    if (this.source === undefined) return;
    const score = this.source.scoreOf(member);
    if (score === undefined) throw new ErrorReply(missingMember(this.caller, member));
    this.centre = placeOfScore(score);
  }

  circle(radiusText: string, unitText: string): void {
    const radius = floatOf(radiusText, "ERR need numeric radius");
    if (radius < 0) throw new ErrorReply("ERR radius cannot be negative");
    this.unit = unitOf(unitText);
    this.size = { radius: radius * this.unit, width: 0, height: 0 };
  }

  box([widthText = "", heightText = "", unitText = ""]: readonly string[]): void {
    const width = floatOf(widthText, "ERR need numeric width");
    const height = floatOf(heightText, "ERR need numeric height");
    if (width < 0 || height < 0) throw new ErrorReply("ERR height or width cannot be negative");
    this.unit = unitOf(unitText);
    this.size = { radius: null, width: width * this.unit, height: height * this.unit };
  }

  /** One option at this place; how many words it took. */
  option(args: readonly string[], index: number): number {
    switch (word(args, index)) {
      case "WITHDIST":
        this.withDistance = true;
        return 1;
      case "WITHHASH":
        this.withHash = true;
        return 1;
      case "WITHCOORD":
        this.withPlace = true;
        return 1;
      case "ANY":
        this.isAny = true;
        return 1;
      case "ASC":
      case "DESC":
        this.order = word(args, index) as "ASC" | "DESC";
        return 1;
      case "COUNT":
        this.count = integerOf(following(args, index));
        if (this.count <= 0) throw new ErrorReply("ERR COUNT must be > 0");
        return 2;
      default:
        return this.dialect.kind === "search"
          ? this.searchOption(args, index)
          : this.storeOption(args, index);
    }
  }

  /** Whether the options fit together. Throws if not. */
  check(command: string): void {
    const { dialect } = this;
    if (this.target !== null && (this.withDistance || this.withHash || this.withPlace)) {
      const name = dialect.isStore ? "GEOSEARCHSTORE" : "STORE option in GEORADIUS";
      throw new ErrorReply(`ERR ${name} is not compatible with WITHDIST, WITHHASH and WITHCOORD options`);
    }
    if (dialect.kind === "search" && !this.hasOrigin) {
      throw new ErrorReply(`ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for ${command}`);
    }
    if (dialect.kind === "search" && this.size === null) {
      throw new ErrorReply(`ERR exactly one of BYRADIUS and BYBOX can be specified for ${command}`);
    }
    if (this.isAny && this.count === 0) throw new ErrorReply("ERR the ANY argument requires COUNT argument");
  }

  /** The members inside, in the order asked for. */
  find(): Found[] {
    const { source, centre, size } = this;
    if (source === undefined || centre === null || size === null) return [];
    const shape: Shape = { ...size, centre };
    const found: Found[] = [];
    for (const { member, score } of source.members) {
      if (score < 0 || score >= END_OF_SCORES) continue;
      const place = placeOfScore(score);
      const distance = distanceInside(shape, place);
      if (distance === null) continue;
      found.push({ member, score, place, distance });
      if (this.isAny && found.length === this.count) break;
    }
    const order = this.order ?? (this.count > 0 && !this.isAny ? "ASC" : null);
    if (order !== null) {
      const sign = order === "ASC" ? 1 : -1;
      found.sort((a, b) => sign * (a.distance - b.distance));
    }
    return this.count > 0 ? found.slice(0, this.count) : found;
  }

  private searchOption(args: readonly string[], index: number): number {
    const left = args.length - index - 1;
    const name = word(args, index);
    if (name === "FROMMEMBER" && left >= 1 && !this.hasOrigin) {
      this.around(at(args, index + 1));
      return 2;
    }
    if (name === "FROMLONLAT" && left >= 2 && !this.hasOrigin) {
      this.centre = placeOf(at(args, index + 1), at(args, index + 2));
      this.hasOrigin = true;
      return 3;
    }
    if (name === "BYRADIUS" && left >= 2 && this.size === null) {
      this.circle(at(args, index + 1), at(args, index + 2));
      return 3;
    }
    if (name === "BYBOX" && left >= 3 && this.size === null) {
      this.box(args.slice(index + 1, index + 4));
      return 4;
    }
    if (name !== "STOREDIST" || !this.dialect.isStore) throw syntaxError();
    this.storesDistance = true;
    return 1;
  }

  private storeOption(args: readonly string[], index: number): number {
    const name = word(args, index);
    if (!this.dialect.mayStore || (name !== "STORE" && name !== "STOREDIST")) throw syntaxError();
    this.target = following(args, index);
    this.storesDistance = name === "STOREDIST";
    return 2;
  }
}

interface Found {
  readonly member: string;
  readonly score: number;
  readonly place: Place;
  /** Metres from the centre. */
  readonly distance: number;
}

/** Reads where to search; the place at which options begin. */
function readOrigin(search: Search, args: readonly string[], { kind, isStore }: Dialect): number {
  if (kind === "search") {
    if (isStore) search.target = at(args, 1);
    return isStore ? 3 : 2;
  }
  if (kind === "place") {
    search.centre = placeOf(at(args, 2), at(args, 3));
    search.circle(at(args, 4), at(args, 5));
    return 6;
  }
  search.around(at(args, 2));
  if (search.source !== undefined) search.circle(at(args, 3), at(args, 4));
  return 5;
}

function searchBy(dialect: Dialect) {
  return (caller: Caller, args: readonly string[]): ReplyValue => {
    const key = at(args, dialect.isStore ? 2 : 1);
    const search = new Search(caller, caller.database.read(key, SortedSetValue), dialect);
    for (let index = readOrigin(search, args, dialect); index < args.length; ) {
      index += search.option(args, index);
    }
    search.check(at(args, 0));
    const found = search.find();
    if (search.target !== null) return storeFound(caller, search, found);
    return found.map((one) => shown(caller, search, one));
  };
}

function storeFound(caller: Caller, search: Search, found: readonly Found[]): ReplyValue {
  const scores = new SortedSetValue();
  for (const { member, score, distance } of found) {
    scores.set(member, search.storesDistance ? distance / search.unit : score);
  }
  return storeSortedSet(caller, {
    target: search.target as string,
    members: scores.members,
    event: search.isSearch ? "geosearchstore" : "georadiusstore",
  });
}

function shown(caller: Caller, search: Search, found: Found): ReplyValue {
  const { withDistance, withHash, withPlace } = search;
  if (!withDistance && !withHash && !withPlace) return found.member;
  const parts: ReplyValue[] = [found.member];
  if (withDistance) parts.push(distanceText(found.distance, search.unit));
  if (withHash) parts.push(Math.trunc(found.score));
  if (withPlace) parts.push(coordinates(caller, found.place));
  return parts;
}

export const geoHandlers: Handlers = {
  geoadd,
  geodist,
  geohash: (caller, args) =>
    scoresOf(caller, args).map((score) => (score === undefined ? null : textOfScore(score))),
  geopos: (caller, args) =>
    scoresOf(caller, args).map((score) =>
      score === undefined ? NULL_ARRAY : coordinates(caller, placeOfScore(score)),
    ),
  geosearch: searchBy({ kind: "search", mayStore: false, isStore: false }),
  geosearchstore: searchBy({ kind: "search", mayStore: true, isStore: true }),
  georadius: searchBy({ kind: "place", mayStore: true, isStore: false }),
  georadius_ro: searchBy({ kind: "place", mayStore: false, isStore: false }),
  georadiusbymember: searchBy({ kind: "member", mayStore: true, isStore: false }),
  georadiusbymember_ro: searchBy({ kind: "member", mayStore: false, isStore: false }),
};
