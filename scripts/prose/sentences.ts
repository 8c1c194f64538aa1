/**
 * A textlint rule for sentences: each has a subject (it does not begin with a relative pronoun, unless it is a
 * question) and at most `mostWords` words.
 */

import type { TextlintRuleModule } from "@textlint/types";
import { SentenceSplitterSyntax, splitAST } from "sentence-splitter";

export interface SentenceOptions {
  /** Most words of one sentence; `Infinity` does not count them. */
  readonly mostWords?: number;
}

const HEADLESS = /^(?:what|who|whoever|whatever|whose|whom|of which|nobody|none)\b/i;
const CODE = /`[^`]*`|\]\([^)]*\)/g;

function wordsOf(sentence: string): number {
  return sentence.replace(CODE, "code").split(/\s+/).filter(Boolean).length;
}

export const sentences: TextlintRuleModule<SentenceOptions> = (context, { mostWords = 25 } = {}) => ({
  [context.Syntax.Paragraph](node) {
    for (const sentence of splitAST(node as never).children) {
      if (sentence.type !== SentenceSplitterSyntax.Sentence) continue;
      const text = context.getSource(sentence as never).trim();
      const isQuestion = text.endsWith("?");
      const words = wordsOf(text);
      const fault =
        HEADLESS.test(text) && !isQuestion
          ? "Begin with the subject"
          : words > mostWords
            ? `${words} words, ${mostWords} at most`
            : null;
      if (fault === null) continue;
      const padding = context.locator.at(sentence.range[0] - node.range[0]);
      context.report(node, new context.RuleError(`${fault}: "${text.slice(0, 70)}"`, { padding }));
    }
  },
});
