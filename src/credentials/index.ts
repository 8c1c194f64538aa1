/** `sluice/credentials`: logins to managed servers with short-lived tokens, for the option `credentials`. */

export type { AwsIamOptions, AwsKeys } from "./aws-iam";
export { awsIam } from "./aws-iam";
export type { EntraOptions, EntraTokenCredential } from "./entra";
export { entra } from "./entra";
export type { GcpAccessToken } from "./gcp-iam";
export { gcpIam } from "./gcp-iam";
