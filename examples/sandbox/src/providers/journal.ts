import { type FileHandle, open } from 'node:fs/promises'

/** A file of lines that is only ever appended to. What is in it has happened, and survives the end of any process. */
export interface Journal<Line> {
  /** What it held when it was opened. */
  readonly lines: readonly Line[]
  /** Resolves once the line is on disk. Lines keep the order in which they were given. */
  append(line: Line): Promise<void>
  /** Resolves once everything that was appended so far is on disk. */
  flushed(): Promise<void>
  close(): Promise<void>
}

/**
 * Lines that arrive while others are being written travel together and share one sync: no timer, and twenty callers
 * cost hardly more than one. A file that cannot be written ends all: `failed` must not return.
 */
export async function openJournal<Line>(path: string, failed: (error: unknown) => never): Promise<Journal<Line>> {
  const file = await open(path, 'a+')
  const lines = await wholeLines<Line>(file, path)
  let waiting = ''
  let flushing: Promise<void> | undefined
  let next: Promise<void> | undefined

  async function flush(): Promise<void> {
    await flushing
    const batch = waiting
    waiting = ''
    flushing = next
    next = undefined
    await file.appendFile(batch).then(() => file.datasync(), failed)
  }

  return {
    lines,
    append(line) {
      waiting += `${JSON.stringify(line)}\n`
      next ??= flush().catch(failed)
      return next
    },
    flushed: async () => next ?? flushing,
    async close() {
      await (next ?? flushing)
      await file.close()
    },
  }
}

/** A crash cuts off the last line at most. Nobody was told of it, so it is dropped. */
async function wholeLines<Line>(file: FileHandle, path: string): Promise<Line[]> {
  const bytes = await file.readFile()
  const end = bytes.lastIndexOf('\n') + 1
  if (end < bytes.byteLength) await file.truncate(end)
  const texts = bytes.subarray(0, end).toString().split('\n').slice(0, -1)
  return texts.map((text, index) => {
    try {
      return JSON.parse(text) as Line
    } catch (cause) {
      throw new Error(`${path} is damaged in line ${index + 1}.`, { cause })
    }
  })
}
