--- What JSON and Lua do not share: `null`, and tables without entries.
local M = {}

--- Remove `vim.NIL` from a decoded message, in place. Neovim 0.12 keeps it in objects, and it is truthy.
---@generic T
---@param value T
---@return T
function M.received(value)
  if value == vim.NIL then return nil end
  if type(value) == 'table' then
    for key, each in pairs(value) do
      if each == vim.NIL then
        value[key] = nil
      elseif type(each) == 'table' then
        M.received(each)
      end
    end
  end
  return value
end

local P, R = vim.lpeg.P, vim.lpeg.R
local TAIL = R('\128\191')
local CHARACTERS = R('\0\127') ^ 1
  + R('\194\223') * TAIL
  + P('\224') * R('\160\191') * TAIL
  + (R('\225\236') + R('\238\239')) * TAIL * TAIL
  + P('\237') * R('\128\159') * TAIL
  + P('\240') * R('\144\191') * TAIL * TAIL
  + R('\241\243') * TAIL * TAIL * TAIL
  + P('\244') * R('\128\143') * TAIL * TAIL
--- A text as UTF-8: a byte that is not, as a buffer may have it, becomes a replacement character.
local AS_UTF8 = vim.lpeg.Cs((CHARACTERS ^ 1 + P(1) / '\239\191\189') ^ 0)

---@param value any
---@return any
local function as_utf8(value)
  if type(value) == 'string' then
    return value:find('[\128-\255]') and AS_UTF8:match(value) or value
  elseif type(value) ~= 'table' or next(value) == nil then
    return value
  end
  local copy = {}
  for key, each in pairs(value) do
    copy[key] = as_utf8(each)
  end
  return copy
end

--- Params as they are sent: without any, an empty object instead of an empty array. A message with text that is not
--- UTF-8 would never be answered.
---@param params table?
---@return table
function M.sent(params) return (params == nil or next(params) == nil) and vim.empty_dict() or as_utf8(params) end

--- An error of the client itself, in the shape of the daemon's.
---@param kind string
---@param message string
---@param hint string?
---@return jumpseat.Error
function M.error(kind, message, hint)
  return { code = 0, message = message, data = { kind = kind, hint = hint, retryable = false } }
end

--- The text of an error for a person: the message, and the hint if there is one.
---@param err jumpseat.Error
---@return string
function M.sentence(err)
  local hint = err.data and err.data.hint
  return hint and (err.message .. ' ' .. hint) or err.message
end

---@class jumpseat.Error
---@field code integer
---@field message string
---@field data { kind: string, hint: string?, retryable: boolean, provider: string?, errors: { path: string, message: string }[]? }?

return M
