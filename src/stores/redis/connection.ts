import { isHapaxError } from '../../kernel/errors.js'
import { type RedisClient, type Send, sendOf } from './client.js'
import { isUnknownScript, storeError } from './faults.js'
import type { Reply } from './reply.js'
import type { Script } from './script.js'

/** Runs scripts. Whatever goes wrong is a HapaxError, after which nobody knows whether the script ran. */
export interface Connection {
  run(script: Script, keys: readonly [string, ...string[]], given?: Given): Promise<Reply>
}

/** What a script is given, by name. What is `undefined` is not sent. */
export type Given = Readonly<Record<string, string | number | Uint8Array | undefined>>

export function connectionOf(client: RedisClient): Connection {
  const send = sendOf(client)
  return {
    async run(script, keys, given = {}) {
      try {
        return (await sent(send, script, keys, given)) as Reply
      } catch (error) {
        throw isHapaxError(error) ? error : storeError(error)
      }
    },
  }
}

/** By its hash, and with its text where Redis has not seen it yet, or has forgotten it, as a server that was started anew has. */
async function sent(send: Send, { sha, lua }: Script, keys: readonly [string, ...string[]], given: Given) {
  const behind = [String(keys.length), ...keys, ...pairsOf(given)]
  try {
    return await send('EVALSHA', [sha, ...behind], keys[0])
  } catch (error) {
    if (!isUnknownScript(error)) throw error
    return send('EVAL', [lua, ...behind], keys[0])
  }
}

function pairsOf(given: Given): (string | Buffer)[] {
  return Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name, sentAs(value)]))
}

/** Redis may write it after the caller has changed his own. */
function sentAs(value: string | number | Uint8Array): string | Buffer {
  return value instanceof Uint8Array ? Buffer.from(value) : String(value)
}
