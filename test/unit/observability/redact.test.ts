import { inspect } from "node:util";
import { expect } from "chai";
import { ReplyError } from "../../../src/errors";
import {
  attachCommand,
  hideSecrets,
  redactArguments,
  redactOptions,
  redactUrl,
} from "../../../src/observability/redact";
import { describeCommand } from "../../../src/util/credentials";

const WRONG_PASSWORD = "WRONGPASS invalid username-password pair or user is disabled.";
const NO_MASTER = "ERR No such master with that name";
const WRONG_NUMBER = "ERR wrong number of arguments for 'auth' command";

function split(text: string): [string, string[]] {
  const [name = "", ...args] = text.split(" ");
  return [name, args];
}

describe("redactArguments", () => {
  const rows: [string, string][] = [
    ["set k secret EX 10", "k ? ? ?"],
    ["SET k secret", "k ?"],
    ["hset h f v g w", "h f ? ? ?"],
    ["hmset h f v", "h f ?"],
    ["lset l 0 v", "l 0 ?"],
    ["linsert l before v", "l before ?"],
    ["mset a 1 b 2", "a ? ? ?"],
    ["getset k v", "k ?"],
    ["publish channel message", "channel ?"],
    ["zadd z 1 m", "z ? ?"],
    ["xadd s * f v", "s ? ? ?"],
    ["pfadd h e", "h ?"],
    ["get k", "k"],
    ["del a b c", "a b c"],
    ["geoadd g 1 2 m", "g 1 2 m"],
    ["zrange z 0 -1", "z 0 -1"],
    ["echo secret", "?"],
    ["auth user secret", "? ?"],
    ["hello 3 AUTH u secret", "? ? ? ?"],
    ["json.set k $ v", "? ? ?"],
    ["append k v", "? ?"],
    ["mget a b", "? ?"],
    ["hget h f", "? ?"],
    ["ttl k", "?"],
    ["select 1", "?"],
    // Hidden although the published API shows them.
    ["config set requirepass secret", "? ? ?"],
    ["config SET maxmemory 1mb masterauth secret", "? ? ? ? ?"],
    ["config get requirepass", "get requirepass"],
    ["ACL SETUSER bob on >secret ~* +@all", "? ? ? ? ? ?"],
    ["eval return_1 2 k1 k2 v", "? 2 k1 k2 ?"],
    ["evalsha abc 1 k v", "abc 1 k ?"],
    ["eval body nonsense k", "? ? ?"],
    ["getex k EX 10", "k ? ?"],
    ["script load body", "load ?"],
    ["function load body", "load ?"],
  ];
  for (const [call, expected] of rows) {
    it(call, () => {
      expect(redactArguments(...split(call)).join(" ")).to.equal(expected);
    });
  }

  it("takes Buffers and calls without arguments", () => {
    expect(redactArguments("get", [Buffer.from("k")])).to.deep.equal(["k"]);
    expect(redactArguments("eval", [])).to.deep.equal([]);
    expect(redactArguments("auth", [])).to.deep.equal([]);
  });
});

describe("describeCommand", () => {
  const rows: [string, string][] = [
    ["auth secret", "***"],
    ["AUTH user secret", "*** ***"],
    ["hello 3 AUTH user secret SETNAME n", "*** *** *** *** *** ***"],
    ["config set requirepass secret", "*** *** ***"],
    ["CONFIG SET tls-key-file-pass secret port 1", "*** *** *** *** ***"],
    ["config get requirepass", "get requirepass"],
    ["acl setuser bob >secret", "*** *** ***"],
    ["migrate h 1 k 0 10 AUTH secret", "*** *** *** *** *** *** ***"],
    ["sentinel set group auth-pass secret", "*** *** *** ***"],
    ["set auth secret", "auth secret"],
    ["__proto__ a", "a"],
    ["constructor a", "a"],
  ];
  for (const [call, expected] of rows) {
    it(call, () => {
      const [name, args] = split(call);
      const original = [...args];
      const command = describeCommand(name, args);
      expect(command.name).to.equal(name);
      expect(command.args.join(" ")).to.equal(expected);
      expect(args).to.deep.equal(original);
    });
  }

  it("hands ordinary arguments over as they are", () => {
    const args = ["k", Buffer.from("v")];
    expect(describeCommand("set", args).args).to.equal(args);
  });

  it("masks Buffers and names of two words", () => {
    expect(describeCommand("auth", [Buffer.from("secret")]).args).to.deep.equal(["***"]);
    expect(describeCommand("config set", ["requirepass", "secret"]).args).to.deep.equal(["***", "***"]);
  });
});

describe("names of several words", () => {
  const rows: [name: string, args: string[], shown: string][] = [
    ["auth someone", ["secret"], "auth *** ***"],
    ["hello 3", ["AUTH", "someone", "secret"], "hello *** *** *** ***"],
    ["AUTH secret", [], "AUTH ***"],
    ["config  set\trequirepass secret", [], "config ***"],
    ["acl setuser bob >secret", ["<secret"], "acl *** ***"],
    ["get a b", ["c"], "get a b c"],
    ["__proto__ a", ["b"], "__proto__ a b"],
  ];
  for (const [name, args, shown] of rows) {
    it(JSON.stringify(name), () => {
      const command = describeCommand(name, args);
      expect([command.name, ...command.args].join(" ")).to.equal(shown);
      const error = new ReplyError(`ERR unknown command '${name}'`);
      attachCommand(error, name, args);
      expect(error.message).to.not.match(/secret/);
    });
  }
});

describe("attachCommand", () => {
  const said: [call: string, text: string, shown: string][] = [
    [
      "hello 3 AUTH default geheim",
      "ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'default' 'geheim'",
      "ERR unknown command ***",
    ],
    [
      "config set requirepass geheim masterauth e",
      "ERR CONFIG SET failed (possibly related to argument 'geheim') - mere fun",
      "ERR CONFIG SET failed (possibly related to argument ***",
    ],
    ["auth someone geheim", "ERR a proxy says that geheim is wrong", "ERR a proxy says that ***"],
    ["auth bob e", "ERR a proxy says that `e` is wrong", "ERR a proxy says that ***"],
    // Programs compare these, and a mask would say that the credential is a word of the message.
    ["auth invalid", WRONG_PASSWORD, WRONG_PASSWORD],
    ["sentinel get-master-addr-by-name master", NO_MASTER, NO_MASTER],
    ["auth", WRONG_NUMBER, WRONG_NUMBER],
  ];
  for (const [call, text, shown] of said) {
    it(`${call}: ${text}`, () => {
      const [name, args] = split(call);
      const error: ReplyError = new ReplyError(text);
      attachCommand(error, name, args);
      expect(error.message).to.equal(shown);
      expect(error.stack).to.include(shown);
      expect(inspect(error)).to.not.contain("geheim");
      expect(error.command?.args).to.deep.equal(args.map(() => "***"));
    });
  }

  it("leaves other messages alone", () => {
    const error = new ReplyError("WRONGTYPE Operation");
    attachCommand(error, "get", ["k"]);
    expect(error.message).to.equal("WRONGTYPE Operation");
    expect(error.command).to.deep.equal({ name: "get", args: ["k"] });
  });
});

describe("redactUrl", () => {
  const rows: [string, string][] = [
    ["redis://user:secret@h:1/2", "redis://user:***@h:1/2"],
    ["redis://:secret@h", "redis://:***@h"],
    ["redis://user@h", "redis://user@h"],
    ["redis://user:sec@ret@h", "redis://user:***@h"],
    ["redis://h:1/2?password=secret&family=4", "redis://h:1/2?password=***&family=4"],
    ["redis://h?sentinelPassword=secret#x", "redis://h?sentinelPassword=***#x"],
    ["redis://:sec/ret@h:1", "redis://***@h:1"],
    ["redis://u:sec#ret@h", "redis://***@h"],
    ["u:secret@h:1", "u:***@h:1"],
    ["//u:secret@h", "//u:***@h"],
    ["redis://h:1/0", "redis://h:1/0"],
    ["redis://[::1]:1", "redis://[::1]:1"],
    ["/run/redis.sock?password=secret", "/run/redis.sock?password=***"],
    ["localhost", "localhost"],
    ["redis://:12/secret@h:1", "redis://***@h:1"],
    ["redis://:12?secret@h:1", "redis://***@h:1"],
    ["redis://h:1?password=a@b", "redis://h:1?password=***"],
  ];
  for (const [text, expected] of rows) {
    it(text, () => {
      expect(redactUrl(text)).to.equal(expected);
    });
  }
});

describe("redactOptions", () => {
  it("masks passwords and private keys at every level", () => {
    const options = {
      host: "h",
      password: "geheim",
      sentinelPassword: "geheim",
      tls: { key: "geheim", passphrase: "geheim", pfx: Buffer.from("geheim"), ca: "ca" },
      redisOptions: { password: "geheim", db: 1 },
      username: "u",
    };
    const shown = redactOptions(options);
    expect(inspect(shown, { depth: 5 })).to.not.contain("geheim");
    expect(shown).to.deep.include({ host: "h", username: "u", redisOptions: { password: "***", db: 1 } });
    expect(options.password).to.equal("geheim");
  });

  it("shows that there is no password", () => {
    expect(redactOptions({ password: null, sentinelPassword: undefined })).to.deep.equal({
      password: null,
      sentinelPassword: undefined,
    });
  });

  it("works behind util.inspect without being seen by anyone else", () => {
    const options = hideSecrets({ password: "geheim", deep: { host: "h" } });
    expect(inspect({ client: { options } }, { depth: 4 }))
      .to.contain("***")
      .and.not.contain("geheim");
    expect(Object.keys(options)).to.deep.equal(["password", "deep"]);
    expect({ ...options }).to.deep.equal({ password: "geheim", deep: { host: "h" } });
  });
});
