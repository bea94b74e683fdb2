import { createHash } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { systemChance } from '../../kernel/chance.js'
import { systemClock } from '../../kernel/clock.js'
import { queueBounds } from '../../kernel/queue-limits.js'
import type { QueuedOperation, QueueStorage } from '../queue-storage.js'

/**
 * The operations of a queue in a directory, one file for each. A file is written under another name, synced, and then
 * given its own, so there is never half an operation; and since no file holds two, processes that share the directory do
 * not get in each other's way. Only the owner of the process can read them.
 */
export function fileStorage(directory: string): QueueStorage {
  const fileOf = (key: string) => join(directory, `${createHash('sha256').update(key).digest('hex')}${ending}`)

  return {
    async put(operation) {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const unfinished = join(directory, `${systemChance.id()}${unfinishedEnding}`)
      const file = await open(unfinished, 'wx', 0o600)
      try {
        await file.writeFile(textOf(operation))
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(unfinished, fileOf(operation.key))
      await syncDirectory(directory)
    },
    // A removal that a loss of power undoes does no harm: the operation is asked for again, and answered the same.
    remove: (key) => unlink(fileOf(key)).catch(unlessMissing),
    async list() {
      await removeLeftovers(directory)
      const found = await Promise.all(
        (await namesIn(directory)).filter(isOperation).map((name) => read(directory, name)),
      )
      return found.filter((operation) => operation !== undefined)
    },
    count: async () => (await namesIn(directory)).filter(isOperation).length,
  }
}

const ending = '.json'
const unfinishedEnding = '.unfinished'
const brokenEnding = '.broken'
const isOperation = (name: string) => name.endsWith(ending)

function textOf({ body, ...others }: QueuedOperation): string {
  return JSON.stringify({ ...others, ...(body && { body: Buffer.from(body).toString('base64') }) })
}

/** What cannot be read is put aside and kept, for a person: nobody else knows what it was. */
async function read(directory: string, name: string): Promise<QueuedOperation | undefined> {
  const path = join(directory, name)
  const text = await readFile(path, 'utf8').catch(unlessMissing)
  if (text === undefined) return undefined
  try {
    const { body, ...others } = JSON.parse(text)
    return { ...others, ...(body !== undefined && { body: new Uint8Array(Buffer.from(body, 'base64')) }) }
  } catch {
    await rename(path, `${path}${brokenEnding}`).catch(unlessMissing)
    return undefined
  }
}

async function removeLeftovers(directory: string): Promise<void> {
  for (const name of await namesIn(directory)) {
    if (!name.endsWith(unfinishedEnding)) continue
    const path = join(directory, name)
    const found = await stat(path).catch(unlessMissing)
    const isOld = found !== undefined && systemClock.now() - found.mtimeMs > queueBounds.leftoverMs
    if (isOld) await unlink(path).catch(unlessMissing)
  }
}

async function namesIn(directory: string): Promise<readonly string[]> {
  return (await readdir(directory).catch(unlessMissing)) ?? []
}

/** A new name is durable when its directory is. Windows has no such thing, and says so. */
async function syncDirectory(directory: string): Promise<void> {
  const opened = await open(directory, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPERM' && error.code !== 'EISDIR') throw error
  })
  if (opened === undefined) return
  try {
    await opened.sync()
  } finally {
    await opened.close()
  }
}

/** Another process was quicker. */
function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
