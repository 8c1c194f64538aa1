/** Who watches, told apart by asynchronous contexts: requests, what they start, and a new WATCH after the last one is over. */

import { AsyncResource } from "node:async_hooks";
import { expect } from "chai";
import { presentUser, type WatchUser, watchingUser } from "../../../src/command/watch-user";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** As it was when this file was loaded: tests of other files may have left theirs marked. */
const unmarked = new AsyncResource("test");

/** In a context of its own, as a request has it. */
const apart = <T>(work: () => Promise<T>): Promise<T> => Promise.resolve().then(work);

/** The same, of nobody who has watched. */
const afresh = <T>(work: () => Promise<T>): Promise<T> => unmarked.runInAsyncScope(() => apart(work));

describe("users of WATCH", () => {
  it("are nobody before they watch", async () => {
    await afresh(async () => expect(presentUser()).to.equal(undefined));
  });

  it("are those that watch, and what they start from then on", async () => {
    await afresh(async () => {
      const caller = watchingUser();
      caller.guards = 1;
      await turn();
      expect(presentUser()).to.equal(caller);
      expect(await apart(async () => presentUser())).to.equal(caller);
      const late = await new Promise((resolve) => setTimeout(() => resolve(presentUser()), 1));
      expect(late).to.equal(caller);
    });
  });

  it("are told from others that run at the same time", async () => {
    const callers = await Promise.all(
      [1, 2].map(() =>
        afresh(async () => {
          const caller = watchingUser();
          caller.guards = 1;
          await turn();
          return [caller, presentUser()] as const;
        }),
      ),
    );
    for (const [caller, present] of callers) expect(present).to.equal(caller);
    expect(callers[0]?.[0]).to.not.equal(callers[1]?.[0]);
    expect(callers.map(([{ previous }]) => previous)).to.deep.equal([null, null]);
  });

  it("stay the same while they guard keys, and are others afterwards, who know whom they descend from", async () => {
    await afresh(async () => {
      const first = watchingUser();
      first.guards = 1;
      expect(watchingUser()).to.equal(first);
      first.guards = 0;
      const second: WatchUser = watchingUser();
      expect(second).to.not.equal(first);
      expect([second.previous, presentUser()]).to.deep.equal([first, second]);
    });
  });

  it("begin with no guards, so that two that descend from one are two", async () => {
    await afresh(async () => {
      const parent = watchingUser();
      expect(parent.guards).to.equal(0);
      const children = await Promise.all([1, 2].map(() => apart(async () => watchingUser())));
      expect(children[0]).to.not.equal(children[1]);
      expect(children.map(({ previous }) => previous)).to.deep.equal([parent, parent]);
      expect(presentUser()).to.equal(parent);
    });
  });
});
