/** The named exports of the ES modules. They include no late parts. */

export * from "../index";
