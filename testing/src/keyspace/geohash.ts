/**
 * Places as sorted sets hold them: longitude and latitude in 26 bits each, interleaved to a score of
 * 52 bits. Distances are along a sphere of the servers' radius.
 */

export interface Place {
  readonly longitude: number;
  readonly latitude: number;
}

const HALF_WORD = 32;
const STEP = 26;
const CELLS = 2 ** STEP;
/** A search looks at the scores below. */
export const END_OF_SCORES = 2 ** (2 * STEP);
export const MAX_LATITUDE = 85.05112878;
const EARTH_RADIUS_M = 6372797.560856;
const ALPHABET = "0123456789bcdefghjkmnpqrstuvwxyz";
const TEXT_LENGTH = 11;
const BITS_PER_LETTER = 5n;

interface Limits {
  readonly longitude: readonly [number, number];
  readonly latitude: readonly [number, number];
}

const OWN: Limits = { longitude: [-180, 180], latitude: [-MAX_LATITUDE, MAX_LATITUDE] };
/** The text form is of the usual geohash, which reaches the poles. */
const USUAL: Limits = { longitude: [-180, 180], latitude: [-90, 90] };

function cellOf(value: number, [low, high]: readonly [number, number]): number {
  return Math.trunc(((value - low) / (high - low)) * CELLS);
}

/** Bits of the latitude at even places, of the longitude at odd ones. */
function interleave(latitude: number, longitude: number): bigint {
  let bits = 0n;
  for (let bit = STEP - 1; bit >= 0; bit--) {
    bits =
      (bits << 2n) |
      BigInt((Math.floor(longitude / 2 ** bit) % 2) << 1) |
      BigInt(Math.floor(latitude / 2 ** bit) % 2);
  }
  return bits;
}

function encode({ longitude, latitude }: Place, limits: Limits): bigint {
  return interleave(cellOf(latitude, limits.latitude), cellOf(longitude, limits.longitude));
}

/** The score of a place. */
export function scoreOfPlace(place: Place): number {
  return Number(encode(place, OWN));
}

/** A score as 64 bits, as the processors of servers convert one that does not fit. */
function wordOf(score: number): bigint {
  if (score >= 2 ** 64) return 0n;
  if (score < -(2 ** 63)) return 1n << 63n;
  return BigInt.asUintN(64, BigInt(Math.trunc(score)));
}

/** The middle of the cell that a score names; a score that no place has lies at the edge. */
export function placeOfScore(score: number): Place {
  const bits = wordOf(score);
  let latitude = 0;
  let longitude = 0;
  for (let bit = HALF_WORD - 1; bit >= 0; bit--) {
    const pair = Number((bits >> BigInt(2 * bit)) & 3n);
    latitude = latitude * 2 + (pair & 1);
    longitude = longitude * 2 + (pair >> 1);
  }
  return {
    longitude: clamp(middleOf(longitude, OWN.longitude), 180),
    latitude: clamp(middleOf(latitude, OWN.latitude), MAX_LATITUDE),
  };
}

function middleOf(cell: number, [low, high]: readonly [number, number]): number {
  const scale = high - low;
  const from = low + (cell / CELLS) * scale;
  const to = low + ((cell + 1) / CELLS) * scale;
  return (from + to) / 2;
}

function clamp(value: number, limit: number): number {
  return Math.min(limit, Math.max(-limit, value));
}

/** The usual geohash of eleven letters; the last is always 0, because 52 bits fill ten and a bit. */
export function textOfScore(score: number): string {
  const bits = encode(placeOfScore(score), USUAL);
  let text = "";
  for (let index = 0; index < TEXT_LENGTH; index++) {
    const shift = 52n - BigInt(index + 1) * BITS_PER_LETTER;
    text += index === TEXT_LENGTH - 1 ? ALPHABET[0] : ALPHABET[Number((bits >> shift) & 31n)];
  }
  return text;
}

function radians(degrees: number): number {
  return degrees * (Math.PI / 180);
}

/** Metres along meridians alone. */
function latitudeDistance(one: number, other: number): number {
  return EARTH_RADIUS_M * Math.abs(radians(other) - radians(one));
}

/** Metres between two places (haversine). */
export function distanceBetween(one: Place, other: Place): number {
  const [lon1, lon2] = [radians(one.longitude), radians(other.longitude)];
  const v = Math.sin((lon2 - lon1) / 2);
  if (v === 0) return latitudeDistance(one.latitude, other.latitude);
  const [lat1, lat2] = [radians(one.latitude), radians(other.latitude)];
  const u = Math.sin((lat2 - lat1) / 2);
  const a = u * u + Math.cos(lat1) * Math.cos(lat2) * v * v;
  return 2 * EARTH_RADIUS_M * Math.asin(Math.sqrt(a));
}

export interface Shape {
  readonly centre: Place;
  /** Metres; null for a box. */
  readonly radius: number | null;
  readonly width: number;
  readonly height: number;
}

/** Metres from the centre, or null if the place is outside of the shape. */
export function distanceInside({ centre, radius, width, height }: Shape, place: Place): number | null {
  if (radius !== null) {
    const distance = distanceBetween(centre, place);
    return distance > radius ? null : distance;
  }
  if (latitudeDistance(place.latitude, centre.latitude) > height / 2) return null;
  const beside = { longitude: centre.longitude, latitude: place.latitude };
  if (distanceBetween(place, beside) > width / 2) return null;
  return distanceBetween(centre, place);
}
