/** The public status words of a link, as applications read them. */

export type LinkStatus =
  | "wait"
  | "connecting"
  | "connect"
  | "ready"
  | "close"
  | "reconnecting"
  | "end"
  | "monitoring";
