/** WATCH on a cluster: a transaction runs only over the connection that saw its WATCH. */

import { expect } from "chai";
import { WatchKeeper } from "../../../src/cluster/watch-keeper";
import { Command, IGNORED, Origin } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { NO_SLOT } from "../../../src/command/slot";
import { WatchLostError } from "../../../src/errors";
import type { Link } from "../../../src/link/link";

class ModelLink {
  connection: object | null = {};
  isWritable = true;
  readonly offline = { length: 0 };
  readonly noted: Command[] = [];
  readonly session = { endedGuards: 0, note: (command: Command) => void this.noted.push(command) };
  readonly sent: Command[] = [];

  dispatch(command: Command): void {
    this.sent.push(command);
  }

  get asLink(): Link {
    return this as unknown as Link;
  }
}

describe("WatchKeeper", () => {
  let keeper: WatchKeeper;
  let link: ModelLink;
  let other: ModelLink;

  beforeEach(() => {
    keeper = new WatchKeeper();
    link = new ModelLink();
    other = new ModelLink();
  });

  function note(name: string, slot: number, at = link): void {
    const command = new Command(specOf(name), name === "watch" ? ["k"] : [], false, IGNORED);
    command.slot = slot;
    keeper.note(command, at.asLink);
  }

  const refusal = (slot: number, at = link): string | undefined => {
    const error = keeper.refusal(slot, at.asLink);
    if (error !== null) expect(error).to.be.instanceOf(WatchLostError);
    return error?.message;
  };

  it("lets a transaction pass over the connection of its WATCH, and over any where nothing is watched", () => {
    expect(refusal(0)).to.equal(undefined);
    note("watch", 0);
    expect([refusal(0), refusal(2, other)]).to.deep.equal([undefined, undefined]);
  });

  it("refuses it on another node, and on the next connection to the same one; then that is over", () => {
    note("watch", 0);
    note("watch", 2);
    note("watch", 3);
    expect(refusal(0, other)).to.match(/watch/i);
    link.connection = {};
    expect(refusal(2)).to.match(/watch/i);
    link.connection = null;
    expect(refusal(3)).to.match(/watch/i);
    expect([refusal(0, other), refusal(2), refusal(3)]).to.deep.equal([undefined, undefined, undefined]);
  });

  it("lets a WATCH count that waited for the first connection", () => {
    link.connection = null;
    note("watch", 0);
    note("watch", 2);
    link.connection = {};
    expect(refusal(0)).to.equal(undefined);
    expect(refusal(2, other), "on another node it does not").to.match(/watch/i);
  });

  it("refuses it when something else has ended the guard of the connection", () => {
    note("watch", 0);
    link.session.endedGuards++;
    expect(refusal(0)).to.include("ended the WATCH");
    note("watch", 0);
    expect(refusal(0), "a WATCH after that counts").to.equal(undefined);
  });

  it("tells the other connections of an UNWATCH, each once and only where one can be written to", () => {
    const third = new ModelLink();
    third.isWritable = false;
    note("watch", 0);
    note("watch", 2, other);
    note("watch", 3, other);
    note("watch", 4, third);
    note("unwatch", NO_SLOT);
    expect(other.sent.map(({ name, origin }) => [name, origin])).to.deep.equal([["unwatch", Origin.Client]]);
    expect([link.sent, third.sent]).to.deep.equal([[], []]);
    expect(
      third.noted.map(({ name }) => name),
      "its connection is lost",
    ).to.deep.equal(["unwatch"]);
    expect([refusal(2), refusal(4)], "nothing is watched any more").to.deep.equal([undefined, undefined]);
  });

  it("forgets all when it is cleared, and heeds no WATCH without a slot", () => {
    note("watch", 0);
    keeper.clear();
    note("watch", NO_SLOT);
    expect([refusal(0, other), refusal(NO_SLOT, other)]).to.deep.equal([undefined, undefined]);
  });
});
