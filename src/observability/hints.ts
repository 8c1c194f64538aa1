/**
 * Adds to errors of servers and sockets what they probably mean and what to do. The beginning of a
 * message stays as it was, since programs look at it.
 */

/** Appends the hint to the message, once. */
export function explain<T extends Error>(error: T, hint: string | null): T {
  if (hint === null || error.message.endsWith(`(${hint})`)) return error;
  const { message, stack } = error;
  error.message = `${message} (${hint})`;
  const at = stack?.indexOf(message) ?? -1;
  if (stack !== undefined && at >= 0) {
    error.stack = stack.slice(0, at) + error.message + stack.slice(at + message.length);
  }
  return error;
}

/** Answers of a server that takes no more connections, or none of this kind; they come unasked. */
const TURNED_AWAY = /^(?:DENIED |ERR max number of clients)/;

export function isTurnedAway(message: string): boolean {
  return TURNED_AWAY.test(message);
}

/** About a handshake that was refused. */
export function hintOnRefusal(said: string, hasPassword: boolean): string | null {
  if (said.startsWith("WRONGPASS invalid username-password") || said === "ERR invalid password") {
    return "the server does not know this user with this password: check the options username and password";
  }
  if (said.startsWith("NOAUTH ") && !hasPassword) {
    return "the server wants a password and none was given: set the options password and, for ACL users, username";
  }
  if (said.startsWith("ERR max number of clients")) {
    return "the server has no room for another connection: share clients, close idle ones, or raise its maxclients";
  }
  if (said.startsWith("DENIED ")) {
    return "the server takes connections from its own host only until a password is set there: set one, and the option password here";
  }
  return null;
}

/** About the SELECT of a handshake that was refused. */
export function hintOnDatabase(db: number, said: string): string {
  const why = said.includes("cluster mode") ? "a cluster has database 0 only" : "check the option db";
  return `database ${db} cannot be selected, so nothing is sent on this connection; ${why}`;
}

/** About an error reply to a command of a client for a single server. */
export function hintOnReply(message: string): string | null {
  if (/^(?:MOVED|ASK) \d+ /.test(message)) {
    return "the server is a node of a cluster and another one has this key: connect with new Cluster([{ host, port }])";
  }
  if (!message.startsWith("NOAUTH ")) return null;
  return "this connection has not logged in: set the options password and, for ACL users, username";
}

/** About a command that a server of this mode does not know. */
export function hintOnUnknown(message: string, mode: string | null): string | null {
  if (mode !== "sentinel" || !/^ERR unknown (?:sub)?command/i.test(message)) return null;
  return "the server is a Sentinel, which holds no data: connect with the options sentinels and name";
}

const TLS_ALERT = 0x15;
const TLS_HANDSHAKE = 0x16;

/** About a server whose first words are none of the protocol's. */
export function hintOnGreeting(message: string, isEncrypted: boolean): string | null {
  const byte = Number(/^Unknown RESP type (\d+)/.exec(message)?.[1] ?? 0);
  if (byte === TLS_ALERT || byte === TLS_HANDSHAKE) {
    return "the server speaks TLS at this port: set the option tls, or use a rediss:// URL";
  }
  const scheme = isEncrypted ? "HTTPS" : "HTTP";
  if (byte === 72) return `the server answers like one for ${scheme}: check the port`;
  return byte > 32 && byte < 127 ? "this is no server of the Redis protocol: check host and port" : null;
}

/** About a connection that was lost or given up before its TLS handshake was over. */
export function hintOnTls(error: Error & { code?: string }): string | null {
  const { code = "", message } = error;
  const isForeign = /^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNKNOWN_PROTOCOL)$/.test(code);
  const isCut = code === "ECONNRESET" && message.includes("before secure TLS connection");
  if (!isForeign && !isCut && !/wrong version number|unknown protocol/.test(message)) return null;
  return "the server does not speak TLS at this port, or refuses this client's TLS: check the port and the option tls";
}

/** About a connection without TLS that the server ended before it had said anything. */
export function hintOnCut(error: Error & { code?: string }): string | null {
  if (error.code !== "ECONNRESET" && error.code !== "EPIPE") return null;
  return "the server ended the connection before it had answered: it may speak TLS only at this port (option tls), or not want this host";
}

/** About a connection that was open while its time ran out. */
export function hintOnSilence(isTls: boolean): string {
  return isTls
    ? "the port is open but no TLS handshake came about: the server may not speak TLS there; check the port and the option tls"
    : "the port is open but the handshake was not answered: the server is busy, speaks TLS only, or is no Redis server";
}
