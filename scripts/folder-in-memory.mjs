/** Where tests put what they throw away. */
import { accessSync, chmodSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

/** What all tests together leave there is less than half of it. */
const neededBytes = 6 * 1024 ** 3

/**
 * A temporary folder in memory, where the machine has one with enough room. Thousands of small databases are made and flushed
 * in a run, and most of its time would be waiting for the disk. Nothing is lost by it: tests kill processes, never the machine,
 * and every database still has its usual settings. It goes with this process.
 *
 * @returns {string | undefined}
 */
export function folderInMemory() {
  try {
    accessSync(memory, constants.W_OK)
    const { bavail, bsize } = statfsSync(memory)
    if (bavail * bsize < neededBytes) return undefined
    const folder = mkdtempSync(join(memory, 'hapax-test-'))
    process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
    // The server's own user has to get in.
    chmodSync(folder, 0o711)
    return folder
  } catch {
    return undefined
  }
}

const memory = '/dev/shm'
