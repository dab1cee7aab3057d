--- Prepares values for JSON, cleans values that were decoded from JSON, and formats errors.
local M = {}

--- Remove `vim.NIL` from a decoded message, in place. Neovim 0.12 leaves it in objects, and it is truthy.
---@generic T
---@param value T
---@return T
function M.remove_nulls(value)
  if value == vim.NIL then return nil end
  if type(value) == 'table' then
    for key, each in pairs(value) do
      if each == vim.NIL then
        value[key] = nil
      elseif type(each) == 'table' then
        M.remove_nulls(each)
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
--- Replaces each byte that is not part of valid UTF-8 with a replacement character. A buffer may contain such bytes.
local AS_UTF8 = vim.lpeg.Cs((CHARACTERS ^ 1 + P(1) / '\239\191\189') ^ 0)

---@param value any
---@return any
local function replace_invalid_utf8(value)
  if type(value) == 'string' then
    return value:find('[\128-\255]') and AS_UTF8:match(value) or value
  elseif type(value) ~= 'table' or next(value) == nil then
    return value
  end
  local copy = {}
  for key, each in pairs(value) do
    copy[key] = replace_invalid_utf8(each)
  end
  return copy
end

--- Prepare params for sending. Nil and an empty table become an empty object instead of an empty array. Bytes that are not
--- valid UTF-8 are replaced, because the daemon would never answer a message that contains such bytes.
---@param params table?
---@return table
function M.prepare(params)
  return (params == nil or next(params) == nil) and vim.empty_dict() or replace_invalid_utf8(params)
end

--- Create an error of the client itself, in the shape of the daemon's errors.
---@param kind string
---@param message string
---@param hint string?
---@return jumpseat.Error
function M.error(kind, message, hint)
  return { code = 0, message = message, data = { kind = kind, hint = hint, retryable = false } }
end

--- Format an error for the user: the message, and the hint if there is one.
---@param err jumpseat.Error
---@return string
function M.format_error(err)
  local hint = err.data and err.data.hint
  return hint and (err.message .. ' ' .. hint) or err.message
end

---@class jumpseat.Error
---@field code integer
---@field message string
---@field data { kind: string, hint: string?, retryable: boolean, provider: string?, errors: { path: string, message: string }[]? }?

return M
