/** The sub-path `built/ScanStream`. */

export { ScanStream, ScanStream as default } from "../streaming/scan-stream";
