/** Hints for errors of servers and sockets: the probable cause and a remedy. Each function may have no advice. */

import { addHint } from "../util/error-hint";

/** Replies of a server that refuses the connection. They arrive before any request is answered. */
const TURNED_AWAY = /^(?:DENIED |ERR max number of clients)/;

export function isTurnedAway(message: string): boolean {
  return TURNED_AWAY.test(message);
}

/** Replies of a server that is full, runs a script, or loads its data. */
const TRANSIENT = /^(?:ERR max number of clients|BUSY |LOADING |TRYAGAIN )/;

/** Whether a server refuses a handshake because of its load: the next attempt may succeed without any change. */
export function isTransientRefusal(message: string): boolean {
  return TRANSIENT.test(message);
}

export function hintOnRefusal(said: string, hasPassword: boolean): string | null {
  if (said.startsWith("WRONGPASS invalid username-password") || said === "ERR invalid password") {
    return "The server does not accept this user name with this password. Check the options `username` and `password`.";
  }
  if (said.startsWith("NOAUTH ") && !hasPassword) {
    return "The server requires a password and none is configured. Set the option `password` and, for an ACL user, `username`.";
  }
  if (said.startsWith("ERR max number of clients")) {
    return "The server has reached its limit of connections. Share clients, close idle ones, or raise `maxclients` on the server.";
  }
  if (said.startsWith("DENIED ")) {
    return "The server accepts only local connections until it has a password. Set a password on the server and the option `password` here.";
  }
  return null;
}

/** For a SELECT that the server refuses in the handshake. */
export function hintOnDatabase(db: number, said: string): string {
  const advice = said.includes("cluster mode")
    ? "This cluster has only database 0: remove the option `db`."
    : "Check the option `db` and the setting `databases` of the server.";
  return `The server refuses database ${db}, so the client sends no commands on this connection. ${advice}`;
}

/** Adds the hint to an error reply to a command of a client of one server. */
export function explainReply(error: Error, args: readonly unknown[]): void {
  addHint(error, hintOnReply(error.message, args));
}

function hintOnReply(message: string, args: readonly unknown[]): string | null {
  if (message.startsWith("ERR ") && args.includes("[object Object]")) {
    return 'An argument was an object, which was sent as "[object Object]". Pass options one by one, as in set(key, value, "EX", 10).';
  }
  if (/^(?:MOVED|ASK) \d+ /.test(message)) {
    return "The server is a node of a cluster, and another node has this key. Connect with `new Cluster([{ host, port }])`.";
  }
  if (!message.startsWith("NOAUTH ")) return null;
  return "This connection is not authenticated. Set the option `password` and, for an ACL user, `username`.";
}

/** For a command that a server in this mode does not know. */
export function hintOnUnknown(message: string, mode: string | null): string | null {
  if (!/^ERR unknown (?:sub)?command/i.test(message)) return null;
  if (mode === "sentinel") {
    return "The server is a Sentinel, which stores no data. Connect with the options `sentinels` and `name`.";
  }
  if (!/^ERR unknown command ['`](?:json|ft|ts|bf|cf|cms|topk|tdigest)\./i.test(message)) return null;
  return "The server has no module with this command. Redis 8 has JSON, Search, time series and probabilistic types.";
}

const TLS_ALERT = 0x15;
const TLS_HANDSHAKE = 0x16;

/** For a server whose first bytes are not RESP. */
export function hintOnGreeting(message: string, isEncrypted: boolean): string | null {
  const byte = Number(/^Unknown RESP type (\d+)/.exec(message)?.[1] ?? 0);
  if (byte === TLS_ALERT || byte === TLS_HANDSHAKE) {
    return "The server speaks TLS at this port. Set the option `tls`, or use a rediss:// URL.";
  }
  // "H": the reply begins with "HTTP/1.1".
  const scheme = isEncrypted ? "HTTPS" : "HTTP";
  if (byte === 72) return `This is an ${scheme} server. Check the port.`;
  return byte > 32 && byte < 127 ? "This is not a Redis or Valkey server. Check host and port." : null;
}

export function isForeignToTls({ code = "", message }: Error & { code?: string }): boolean {
  if (/^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNKNOWN_PROTOCOL)$/.test(code)) return true;
  return /wrong version number|unknown protocol/.test(message);
}

/** For a server that answers in plain text where the client uses TLS. */
export const HINT_ON_PLAIN_PORT =
  "Connect without the option `tls` (redis:// instead of rediss://), or use the TLS port of the server.";

/** For a cluster client whose server is not a node of a cluster, or refuses the client. */
export function hintOnNode(message: string): string | null {
  if (/cluster support disabled/i.test(message)) {
    return "The server is not a node of a cluster. Connect with `new Redis({ host, port })`.";
  }
  if (/^ERR unknown command\b/i.test(message)) {
    return "The server has no command CLUSTER, so it is not a node of a cluster. For a Sentinel, connect with `new Redis({ sentinels, name })`.";
  }
  if (/^NOPERM .*\bcluster\b/i.test(message)) {
    return "The user has no permission for CLUSTER, which lists the nodes. Grant it with ACL SETUSER and `+cluster|slots +cluster|shards +cluster|info`.";
  }
  return hintOnRefusal(message, false);
}

/** For a connection that ended before its TLS handshake was complete. */
export function hintOnTls(error: Error & { code?: string }): string | null {
  const { code, message } = error;
  const isCut = code === "ECONNRESET" && message.includes("before secure TLS connection");
  if (!isCut && !isForeignToTls(error)) return null;
  return "The server does not speak TLS at this port, or it refuses the TLS settings of this client. Check the port and the option `tls`.";
}

export function hintOnCertificate({ code = "" }: Error & { code?: string }): string | null {
  if (/ALERT_\w*CERT|ALERT_UNKNOWN_CA/.test(code)) {
    return "The server requires a client certificate, or does not accept this one. Check `cert` and `key` in the option `tls`.";
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return "The certificate of the server is for other names. Check the option `host`, or set `servername` in the option `tls` to one of these names.";
  }
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID") {
    return "The certificate of the server is not valid at this time. Renew it, or correct the clock of this machine.";
  }
  if (!/CERT|^UNABLE_TO_VERIFY_LEAF_SIGNATURE$/.test(code)) return null;
  return "This client does not trust the certificate of the server. Set `ca` in the option `tls` to the authority that signed it.";
}

/** For a connection without TLS that the server closed before its first reply. */
export function hintOnCut(error: Error & { code?: string }): string | null {
  if (error.code !== "ECONNRESET" && error.code !== "EPIPE") return null;
  return "The server closed the connection before its first reply. If the port accepts only TLS, set the option `tls`. Otherwise check whether the server or a proxy rejects this host.";
}

/** For a connection that was open when its time limit passed. */
export function hintOnSilence(isTls: boolean): string {
  return isTls
    ? "The port is open, but the TLS handshake did not complete. The server may not speak TLS at this port. Check the port and the option `tls`."
    : "The port is open, but the server did not answer the handshake. It is busy (see SLOWLOG), accepts only TLS (set the option `tls`), or is not a Redis or Valkey server.";
}

/** For a connection whose packets stayed unanswered for its time limit. */
export const HINT_ON_NO_ANSWER =
  "Nothing answers at this address. Check the options `host` and `port`, and the firewalls between this machine and the server.";

export function hintOnUnreachable({ code, syscall }: NodeJS.ErrnoException): string | null {
  switch (code) {
    case "ECONNREFUSED":
      return "No server accepts connections at this address. Check that the server is running, and check the options `host` and `port`.";
    case "ENOTFOUND":
      return "The host name cannot be resolved. Check the option `host` and the DNS settings of this machine.";
    case "EAI_AGAIN":
      return "The name servers of this machine do not answer, so the host name could not be resolved. Check its DNS settings.";
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return "This machine has no route to the server. Check the option `host` and the network of this machine.";
    case "ENOENT":
      // Functions of options read files, which can be missing too.
      return syscall === "connect"
        ? "No unix socket exists at this path. Check that the server is running, and check the option `path`."
        : null;
    default:
      return null;
  }
}

export const HINT_ON_CLOSED =
  "The client was closed by quit() or disconnect(), or `retryStrategy` returned no delay. Call connect() or create a new client.";
