/**
 * The globals that scripts find: the tables `redis`, `cjson`, `cmsgpack`, `struct` and `bit`, and globals that
 * cannot be made.
 */

export const PRELUDE = `
local __brand = __is_valkey and "server" or "redis"
local host, raise, kind, look, set, tell = __host, error, type, debug.getinfo, rawset, tostring

-- What redis.register_function has kept, by the name that the host gave it.
__functions = {}

local function register(...)
  local name, callback = ...
  local description, flags = nil, {}
  if select("#", ...) < 1 or select("#", ...) > 2 then
    raise({ err = "ERR wrong number of arguments to " .. __brand .. ".register_function" })
  end
  if select("#", ...) == 1 then
    if kind(name) ~= "table" then
      raise({ err = "ERR calling " .. __brand .. ".register_function with a single argument is only applicable to Lua table (representing named arguments)." })
    end
    for key in pairs(name) do
      if key ~= "function_name" and key ~= "callback" and key ~= "flags" and key ~= "description" then
        raise({ err = "ERR unknown argument given to " .. __brand .. ".register_function" })
      end
    end
    callback, description, flags = name.callback, name.description, name.flags or {}
    name = name.function_name
    if name == nil then raise({ err = "ERR " .. __brand .. ".register_function must get a function name argument" }) end
    if callback == nil then raise({ err = "ERR " .. __brand .. ".register_function must get a callback argument" }) end
  end
  if kind(name) ~= "string" and kind(name) ~= "number" then
    raise({ err = "ERR first argument to " .. __brand .. ".register_function must be a string" })
  end
  if kind(callback) ~= "function" then
    raise({ err = "ERR second argument to " .. __brand .. ".register_function must be a function" })
  end
  __functions[host.register_function(tell(name), description or false, flags)] = callback
end

redis = {
  call = host.call, pcall = host.pcall, sha1hex = host.sha1hex, setresp = host.setresp,
  error_reply = host.error_reply, status_reply = host.status_reply, acl_check_cmd = host.acl_check_cmd,
  register_function = register,
  log = function() end,
  set_repl = function() end,
  replicate_commands = function() return true end,
  breakpoint = function() return false end,
  debug = function() end,
  LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
  REPL_NONE = 0, REPL_SLAVE = 1, REPL_REPLICA = 1, REPL_AOF = 2, REPL_ALL = 3,
}
if __is_valkey then server = redis end

-- What comes by its name: "cjson.encode" is the field encode of the table cjson.
for name, callback in pairs(host) do
  local place, field = string.match(name, "^(%a+)%.(%a+)$")
  if place then
    if not rawget(_G, place) then set(_G, place, {}) end
    _G[place][field] = callback
  end
end
cjson.null = __null
for _, name in ipairs({
  "encode_sparse_array", "encode_max_depth", "decode_max_depth", "encode_number_precision",
  "encode_keep_buffer", "encode_invalid_numbers", "decode_invalid_numbers",
}) do
  cjson[name] = function() end
end

os = { clock = os.clock }
for _, name in ipairs({ "io", "package", "require", "module", "dofile", "loadfile", "print", "newproxy" }) do
  set(_G, name, nil)
end

-- Where it happened: the nearest place in the script itself.
__handler = function(problem)
  local level = 2
  local place = look(level, "Sl")
  while place and not (place.source == "@user_script" or place.source == "@user_function") do
    level = level + 1
    place = look(level, "Sl")
  end
  if kind(problem) ~= "table" then problem = { err = "ERR " .. tell(problem) } end
  if place then
    problem.source = place.source
    problem.line = tell(place.currentline)
  end
  return problem
end
debug, __host, __null, __is_valkey = nil, nil, nil, nil

setmetatable(_G, {
  __index = function(_, name)
    if name == "KEYS" or name == "ARGV" then return nil end
    raise("Script attempted to access nonexistent global variable '" .. tell(name) .. "'", 2)
  end,
  __newindex = function()
    raise("Attempt to modify a readonly table", 2)
  end,
  __metatable = false,
})
`;
