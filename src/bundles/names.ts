/** The named exports of the ES modules. They bring no late part along. */

export * from "../index";
