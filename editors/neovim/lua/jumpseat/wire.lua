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

--- Params as they are sent: without any, an empty object instead of an empty array.
---@param params table?
---@return table
function M.sent(params) return (params == nil or next(params) == nil) and vim.empty_dict() or params end

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
