/** The sub-path `built/Command`: the `Command` class as default export, for packages that patch it. */

import { LegacyCommand } from "../client/legacy-command";

export { LegacyCommand as Command };
export default LegacyCommand;
