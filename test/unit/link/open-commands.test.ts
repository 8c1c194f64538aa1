/** The report of who leaves within a time limit: whose commands count, and which of them may have run. */

import { expect } from "chai";
import { Command, CommandState, IGNORED, issuedBy, Origin } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { OpenCommands } from "../../../src/link/open-commands";

type CountedLink = Parameters<OpenCommands["addLink"]>[0];

const made: Command[] = [];

function command(origin: Origin, name = "get", state: CommandState = CommandState.Queued): Command {
  const one = issuedBy(origin, new Command(specOf(name), name === "get" ? ["k"] : [], false, IGNORED));
  one.state = state;
  made.push(one);
  return one;
}

function linkWith(waiting: Command[], atConnection: Command[] | null): CountedLink {
  return {
    offline: { pending: () => waiting },
    connection: atConnection === null ? null : { queue: { pending: () => atConnection } },
  } as unknown as CountedLink;
}

function counted(fill: (open: OpenCommands) => void): [unanswered: number, unsent: number, isEmpty: boolean] {
  const open = new OpenCommands();
  fill(open);
  return [open.unanswered, open.unsent, open.isEmpty];
}

describe("OpenCommands", () => {
  afterEach(() => {
    for (const one of made.splice(0)) one.fail(new Error("the test is over"));
  });

  it("is empty as long as nothing counts", () => {
    expect(counted((open) => open.addLink(linkWith([], null)))).to.deep.equal([0, 0, true]);
    expect(counted((open) => open.addLink(linkWith([], [])))).to.deep.equal([0, 0, true]);
  });

  it("tells what was written from what waits, at the connection and for one", () => {
    const sent = command(Origin.User, "get", CommandState.Sent);
    const link = linkWith([command(Origin.User)], [sent, command(Origin.User), command(Origin.Part)]);
    expect(counted((open) => open.addLink(link))).to.deep.equal([1, 3, false]);
  });

  it("counts a command that was written to a connection before as one that may have run", () => {
    const one = command(Origin.User);
    Object.defineProperty(one, "mayHaveRun", { value: true });
    expect(counted((open) => open.addAll([one]))).to.deep.equal([1, 0, false]);
  });

  it("leaves out the client's own commands, QUIT, and those that have settled", () => {
    const settled = command(Origin.User);
    settled.fail(new Error("given up"));
    const others = Object.values(Origin).filter((origin) => origin !== Origin.User && origin !== Origin.Part);
    const own = others.map((origin) => command(origin, "get", CommandState.Sent));
    const all = [settled, command(Origin.User, "quit"), ...own];
    expect(counted((open) => open.addAll(all))).to.deep.equal([0, 0, true]);
    expect(counted((open) => open.addLink(linkWith([], all)))).to.deep.equal([0, 0, true]);
  });

  it("adds up links and lists", () => {
    const both = (open: OpenCommands): void => {
      open.addLink(linkWith([command(Origin.User)], null));
      open.addAll([command(Origin.User)]);
    };
    expect(counted(both)).to.deep.equal([0, 2, false]);
  });
});
