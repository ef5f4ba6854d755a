//! The scripts that Redis runs, each of them as one step.
//!
//! Under a prefix `{weir}:` lie
//! - `v:KEY`, a hash of the value `v`, the revision `r` and the lease `l` of an entry,
//! - `l:ID`, the set of the keys that are bound to a lease, which expires when they do,
//! - `keys`, a sorted set of all keys, all of score 0, so in the order of their bytes,
//! - `revision` and `lease`, the numbers given last,
//! - `birth`, a random word by which a store that lost all its data is told from an older one.
//!
//! Every revision is published once on the channel `{weir}:changes`. So whoever sees one missing
//! knows that it missed a change.

use redis::Script;

/// Functions of all scripts. The first argument is the prefix.
const COMMON: &str = r#"
local p = ARGV[1]
local function publish(op, key, value)
  local revision = redis.call('INCR', p .. 'revision')
  redis.call('PUBLISH', p .. 'changes', string.format('%d %s %d ', revision, op, #key) .. key .. value)
  return revision
end
local function entry(key)
  local found = redis.call('HMGET', p .. 'v:' .. key, 'v', 'r', 'l')
  if not found[2] then return nil end
  return found
end
local function taken(found) return {1, found[1], tonumber(found[2])} end
local function put(key, value, lease, before)
  local at = p .. 'v:' .. key
  local ttl = 0
  if lease ~= '' then
    ttl = redis.call('PTTL', p .. 'l:' .. lease)
    if ttl <= 0 then return {3} end
  end
  if before and before[3] and before[3] ~= '' then redis.call('SREM', p .. 'l:' .. before[3], key) end
  local revision = publish('P', key, value)
  redis.call('HSET', at, 'v', value, 'r', revision, 'l', lease)
  redis.call('ZADD', p .. 'keys', 0, key)
  if lease ~= '' then
    redis.call('SADD', p .. 'l:' .. lease, key)
    redis.call('PEXPIRE', at, ttl)
  else
    redis.call('PERSIST', at)
  end
  return {0, '', revision}
end
local function delete(key, found)
  if found[3] and found[3] ~= '' then redis.call('SREM', p .. 'l:' .. found[3], key) end
  redis.call('DEL', p .. 'v:' .. key)
  redis.call('ZREM', p .. 'keys', key)
  return publish('D', key, '')
end
"#;

/// PREFIX, milliseconds. Returns the lease. A set has a member, the empty key, that no entry has.
const GRANT: &str = r#"
local id = redis.call('INCR', p .. 'lease')
redis.call('SADD', p .. 'l:' .. id, '')
redis.call('PEXPIRE', p .. 'l:' .. id, ARGV[2])
return id
"#;

/// PREFIX, lease, milliseconds. Returns whether the lease is there.
const KEEP_ALIVE: &str = r#"
local at = p .. 'l:' .. ARGV[2]
if redis.call('PEXPIRE', at, ARGV[3]) == 0 then return 0 end
for _, key in ipairs(redis.call('SMEMBERS', at)) do
  if key ~= '' then redis.call('PEXPIRE', p .. 'v:' .. key, ARGV[3]) end
end
return 1
"#;

/// PREFIX, lease. Deletes the lease and its keys.
const REVOKE: &str = r#"
local at = p .. 'l:' .. ARGV[2]
for _, key in ipairs(redis.call('SMEMBERS', at)) do
  local found = entry(key)
  if found and found[3] == ARGV[2] then delete(key, found) end
end
redis.call('DEL', at)
return 1
"#;

/// PREFIX, key. Returns the outcome 1, the value and the revision, or 2.
const GET: &str = r#"
local found = entry(ARGV[2])
if found then return taken(found) end
return {2}
"#;

/// PREFIX, key, value, lease. Returns 0, nothing and the revision; 1 and the entry; or 3 where the
/// lease is lost.
const CLAIM: &str = r#"
local found = entry(ARGV[2])
if found then return taken(found) end
return put(ARGV[2], ARGV[3], ARGV[4], nil)
"#;

/// PREFIX, key, revision, value, lease. Returns what a claim returns, or 2 where the key is absent.
const SWAP: &str = r#"
local found = entry(ARGV[2])
if not found then return {2} end
if found[2] ~= ARGV[3] then return taken(found) end
return put(ARGV[2], ARGV[4], ARGV[5], found)
"#;

/// PREFIX, key, revision. Returns what a swap returns.
const DELETE: &str = r#"
local found = entry(ARGV[2])
if not found then return {2} end
if found[2] ~= ARGV[3] then return taken(found) end
return {0, '', delete(ARGV[2], found)}
"#;

/// PREFIX, prefix of keys, bound to begin at, count, a random word. Returns the birth, the revision
/// before, the last key looked at, and key, value and revision of each entry. Keys whose entries
/// have expired are published as deleted.
const PAGE: &str = r#"
redis.call('SET', p .. 'birth', ARGV[5], 'NX')
local revision = tonumber(redis.call('GET', p .. 'revision') or '0')
local found, last, size = {}, '', 0
local keys = redis.call('ZRANGEBYLEX', p .. 'keys', ARGV[3], '(' .. ARGV[2] .. '\255', 'LIMIT', 0, ARGV[4])
for _, key in ipairs(keys) do
  local it = entry(key)
  last = key
  if it then
    found[#found + 1] = key
    found[#found + 1] = it[1]
    found[#found + 1] = it[2]
    size = size + #it[1]
    if size > 8388608 then break end
  else
    redis.call('ZREM', p .. 'keys', key)
    publish('D', key, '')
  end
end
return {redis.call('GET', p .. 'birth'), revision, last, found}
"#;

/// PREFIX, prefix of keys, bound to begin at, count. Publishes the deletion of entries that have
/// expired. Returns the birth, the revision and the last key looked at.
const SWEEP: &str = r#"
local last = ''
local keys = redis.call('ZRANGEBYLEX', p .. 'keys', ARGV[3], '(' .. ARGV[2] .. '\255', 'LIMIT', 0, ARGV[4])
for _, key in ipairs(keys) do
  last = key
  if redis.call('EXISTS', p .. 'v:' .. key) == 0 then
    redis.call('ZREM', p .. 'keys', key)
    publish('D', key, '')
  end
end
return {redis.call('GET', p .. 'birth') or '', tonumber(redis.call('GET', p .. 'revision') or '0'), last}
"#;

/// The scripts, by the calls that they serve.
pub(super) struct Scripts {
    pub(super) grant: Script,
    pub(super) keep_alive: Script,
    pub(super) revoke: Script,
    pub(super) get: Script,
    pub(super) claim: Script,
    pub(super) swap: Script,
    pub(super) delete: Script,
    pub(super) page: Script,
    pub(super) sweep: Script,
}

impl Scripts {
    pub(super) fn new() -> Self {
        let script = |body: &str| Script::new(&format!("{COMMON}{body}"));
        Self {
            grant: script(GRANT),
            keep_alive: script(KEEP_ALIVE),
            revoke: script(REVOKE),
            get: script(GET),
            claim: script(CLAIM),
            swap: script(SWAP),
            delete: script(DELETE),
            page: script(PAGE),
            sweep: script(SWEEP),
        }
    }
}
