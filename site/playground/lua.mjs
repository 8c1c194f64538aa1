/** Lua for the test server, from the site's own files instead of a registry's. */

import { LuaApi as Packaged } from "wasmoon-lua5.1/dist/index.js";

export const LuaApi = {
  initialize: () => Packaged.initialize(new URL("liblua5.1.wasm", self.location.href).href),
};
