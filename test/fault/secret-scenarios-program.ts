/** All scenarios of secrets in a process of its own; the parent reads what it prints, and learns the secrets. */

import { Redis } from "../../src/index";
import { SCENARIOS } from "../support/secret-scenarios";
import { Secrets, Witness } from "../support/secrets";

async function main(): Promise<void> {
  const secrets = new Secrets();
  const [host = "", port = ""] = process.argv.slice(2);
  // Only the output is looked at here.
  const witness = new Witness(secrets);
  for (const scenario of Object.values(SCENARIOS)) {
    await scenario({ secrets, witness, host, port: Number(port) });
    witness.leaks();
  }
  // Rejections that nobody handles are printed with all that hangs on them.
  const redis = new Redis({ host, port: Number(port) });
  void redis.auth("someone", secrets.of("unhandled"));
  void redis
    .multi()
    .acl("SETUSER", "someone", `>${secrets.of("unhandled too")}`, "nonsense")
    .call("nonsense")
    .exec();
  await redis.quit();
  process.send?.([...secrets.values], () => process.disconnect());
}

void main();
