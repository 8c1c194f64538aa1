/** Provides the code of the option `sentinels`. Questions to Sentinels have time limits. */

import "./timeouts";
import { sentinels } from "../client/connectors";
import * as part from "../sentinel/sentinel-connector";

sentinels.provide(part);
