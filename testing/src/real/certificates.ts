/**
 * Certificates for TLS tests, made by openssl when they are needed: an authority, a server
 * certificate for localhost and 127.0.0.1, a client certificate, and an authority that signed
 * neither of them. Nothing secret is kept in the repository and nothing can expire there.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ConnectionOptions } from "node:tls";
import { temporaryDirectory } from "./temporary-directory";

const VALID_DAYS = "2";
const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

function openssl(directory: string, ...args: string[]): void {
  const { execFileSync } = require("node:child_process") as typeof import("node:child_process");
  execFileSync("openssl", args, { cwd: directory, stdio: ["ignore", "ignore", "pipe"] });
}

function makeAuthority(directory: string, name: string): void {
  const subject = ["-subj", `/CN=${name}`, "-days", VALID_DAYS];
  openssl(directory, "req", "-x509", ...NEW_KEY, ...subject, "-keyout", `${name}.key`, "-out", `${name}.crt`);
}

function makeSigned(directory: string, name: string, alternativeNames: string): void {
  const extensions = `${name}.ext`;
  writeFileSync(join(directory, extensions), `subjectAltName=${alternativeNames}\n`);
  openssl(
    directory,
    "req",
    ...NEW_KEY,
    "-subj",
    `/CN=${name}`,
    "-keyout",
    `${name}.key`,
    "-out",
    `${name}.csr`,
  );
  const authority = ["-CA", "authority.crt", "-CAkey", "authority.key", "-CAcreateserial"];
  const output = ["-days", VALID_DAYS, "-extfile", extensions, "-out", `${name}.crt`];
  openssl(directory, "x509", "-req", "-in", `${name}.csr`, ...authority, ...output);
}

export class Certificates {
  readonly directory = temporaryDirectory();

  /** `serverNames`: host names beside localhost that the server certificate is good for. */
  constructor(serverNames: readonly string[] = []) {
    const names = ["DNS:localhost", "IP:127.0.0.1", ...serverNames.map((name) => `DNS:${name}`)];
    makeAuthority(this.directory, "authority");
    makeAuthority(this.directory, "stranger");
    makeSigned(this.directory, "server", names.join(","));
    makeSigned(this.directory, "client", "DNS:client");
  }

  /** The authority that signed the server's and the client's certificate. */
  get authority(): Buffer {
    return this.read("authority.crt");
  }

  /** An authority that signed nothing here. */
  get strangeAuthority(): Buffer {
    return this.read("stranger.crt");
  }

  get clientCertificate(): Buffer {
    return this.read("client.crt");
  }

  get clientKey(): Buffer {
    return this.read("client.key");
  }

  /** The client's key, to be opened with a passphrase. */
  lockedClientKey(passphrase: string): Buffer {
    const lock = ["-aes256", "-passout", `pass:${passphrase}`];
    openssl(this.directory, "pkey", "-in", "client.key", ...lock, "-out", "locked.key");
    return this.read("locked.key");
  }

  /** For TLS servers of a test's own. */
  serverOptions(): { key: Buffer; cert: Buffer } {
    return { key: this.read("server.key"), cert: this.read("server.crt") };
  }

  /** The files that a client needs to be let in. */
  clientOptions(): ConnectionOptions {
    return { ca: this.authority, cert: this.clientCertificate, key: this.clientKey };
  }

  /** Lines for the server's configuration file: client certificates are demanded. */
  serverConfig(): Record<string, string> {
    return {
      "tls-cert-file": join(this.directory, "server.crt"),
      "tls-key-file": join(this.directory, "server.key"),
      "tls-ca-cert-file": join(this.directory, "authority.crt"),
    };
  }

  private read(name: string): Buffer {
    return readFileSync(join(this.directory, name));
  }
}
