/** Provides the code of the option `bounds`. */

import { bounding } from "../client/chain";
import * as part from "../link/admission";

bounding.provide(part);
