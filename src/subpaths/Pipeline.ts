/** The sub-path `built/Pipeline`. */

export { Pipeline, Pipeline as default } from "../pipeline/pipeline";
