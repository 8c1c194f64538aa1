/** Provides the code for subscribers of the channel `sluice:pipeline`, which `sluice/otel` needs. */

import { pipelineTracing } from "../client/client-tracer";
import * as part from "../client/pipeline-trace";

pipelineTracing.provide(part);
