/** The rule of textlint-rule-prh, which has no types. */

declare module "textlint-rule-prh" {
  import type { TextlintRuleModule } from "@textlint/types";

  const rule: TextlintRuleModule;
  export = rule;
}
