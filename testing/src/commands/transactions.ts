/**
 * MULTI, EXEC, DISCARD, WATCH and UNWATCH.
 */

import { ErrorReply, NULL_ARRAY, OK, type ReplyValue } from "../protocol/reply";
import type { Caller, ClientSession, Handlers } from "../server/model";
import { Transaction } from "../server/transaction";
import { WatchList } from "../server/watch-list";

function sessionOf(caller: Caller): ClientSession {
  if (caller.session === null) throw new ErrorReply("ERR This command needs a connection");
  return caller.session;
}

function exec(caller: Caller): ReplyValue {
  const session = sessionOf(caller);
  const { transaction, watched } = session;
  if (transaction === null) throw new ErrorReply("ERR EXEC without MULTI");
  session.transaction = null;
  // A watched key that has expired since counts as written.
  watched?.lookAgain();
  session.unwatch();
  if (transaction.isSpoiled) {
    throw new ErrorReply("EXECABORT Transaction discarded because of previous errors.");
  }
  if (watched?.isDirty) return NULL_ARRAY;
  session.isBatch = true;
  try {
    return transaction.commands.map(({ entry, args }) => session.engine.call(session, entry, args));
  } finally {
    session.isBatch = false;
  }
}

export const transactionHandlers: Handlers = {
  multi(caller) {
    const session = sessionOf(caller);
    if (session.transaction !== null) throw new ErrorReply("ERR MULTI calls can not be nested");
    session.transaction = new Transaction();
    return OK;
  },
  exec,
  discard(caller) {
    const session = sessionOf(caller);
    if (session.transaction === null) throw new ErrorReply("ERR DISCARD without MULTI");
    session.transaction = null;
    session.unwatch();
    return OK;
  },
  watch(caller, args) {
    const session = sessionOf(caller);
    if (session.transaction !== null) throw new ErrorReply("ERR WATCH inside MULTI is not allowed");
    if (session.watched === null) {
      session.watched = new WatchList();
      session.engine.watchCount++;
    }
    for (const key of args.slice(1)) session.watched.add(session.database, key);
    return OK;
  },
  unwatch(caller) {
    sessionOf(caller).unwatch();
    return OK;
  },
};
