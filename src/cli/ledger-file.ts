import { createReadStream } from 'node:fs'
import type { LedgerEntry } from '../workers/ledger.js'
import { csvRows } from './csv.js'
import { linesOf } from './lines.js'
import { usage } from './usage.js'

/** Reads a provider's ledger, a line at a time: JSON lines where the first one is an object, otherwise CSV with a head. */
export async function* ledgerFile(path: string, landed: Landed): AsyncGenerator<LedgerEntry> {
  for await (const [row, fields] of rowsIn(path)) {
    if (landed === 'all_without_status' && Object.hasOwn(fields, 'status')) throw statusUnjudged(path)
    const entry = entryOf(fields, `${path}, row ${row}`)
    // A line about something else than that it was done says nothing here.
    if (typeof landed === 'string' || landed.includes(entry.status ?? '')) yield entry
  }
}

/** Which lines say that it was done: those with one of these statuses, all, or all of a ledger that has no statuses. */
export type Landed = readonly string[] | 'all' | 'all_without_status'

/** A line may say that a payment failed: what it means to the provider is not guessed where it settles anything. */
function statusUnjudged(path: string): Error {
  return usage(
    `${path} has a status, and --testify settles by it: say which mean done, like --landed settled,captured.`,
  )
}

type Fields = Readonly<Record<string, unknown>>

async function* rowsIn(path: string): AsyncGenerator<readonly [row: number, fields: Fields]> {
  const stream = createReadStream(path, 'utf8')
  let row = 0
  let head: readonly string[] | undefined
  let isJson: boolean | undefined
  try {
    const lines = linesOf(stream)
    const first = await lines.next()
    if (first.done) return
    // A byte order mark is no part of what is written.
    const text = first.value.replace(/^\uFEFF/, '')
    isJson = text.trimStart().startsWith('{')
    if (isJson) {
      yield [++row, parsed(text, `${path}, row ${row}`)]
      for await (const line of lines) if (line.trim() !== '') yield [++row, parsed(line, `${path}, row ${row}`)]
      return
    }
    for await (const cells of csvRows(text, lines)) {
      if (head === undefined) {
        head = cells.map((cell) => cell.trim().toLowerCase())
        continue
      }
      const names = head
      yield [++row, Object.fromEntries(cells.map((cell, index) => [names[index] ?? '', cell]))]
    }
  } catch (error) {
    const code = (error as { code?: unknown }).code as keyof typeof unreadable
    throw Object.hasOwn(unreadable, code) ? usage(`${path} ${unreadable[code]}`) : error
  } finally {
    stream.destroy()
  }
}

const unreadable = {
  ENOENT: 'does not exist.',
  ENOTDIR: 'does not exist.',
  EISDIR: 'is a directory; give the file of a ledger.',
  EACCES: 'may not be read by this user.',
}

function parsed(line: string, where: string): Fields {
  try {
    const fields = Object.entries(JSON.parse(line) as Fields)
    return Object.fromEntries(fields.map(([name, value]) => [name.trim().toLowerCase(), value]))
  } catch {
    throw usage(`${where}: this is no JSON.`)
  }
}

const keyNames = ['key', 'downstream_key', 'idempotency_key']
const timeNames = ['at', 'created', 'created_at', 'date']

function entryOf(fields: Fields, where: string): LedgerEntry {
  const text = (names: readonly string[]) => {
    const found = names
      .map((name) => fields[name])
      .find((value) => value !== undefined && value !== null && value !== '')
    return found === undefined ? undefined : String(found)
  }
  const [key, id, amount, status] = [text(keyNames), text(['id']), text(['amount']), text(['status'])]
  if (key === undefined) throw usage(`${where}: there is no key; name that column "key".`)
  const at = timeOf(text(timeNames), where)
  return {
    key,
    ...(id !== undefined && { id }),
    ...(amount !== undefined && { amount }),
    ...(status !== undefined && { status }),
    ...(at !== undefined && { at }),
  }
}

/** A number is seconds since 1970, or milliseconds where it is too large for that. */
export function timeOf(text: string | undefined, where: string): number | undefined {
  if (text === undefined) return undefined
  // As seconds it would be a time in the seventies, which nobody means.
  const [, year, month, day] = /^(\d{4})(\d\d)(\d\d)$/.exec(text) ?? []
  if (year !== undefined) throw usage(`${where}: "${text}" could be a date or seconds; write ${year}-${month}-${day}.`)
  const ms = /^\d+$/.test(text) ? Number(text) * (Number(text) < 1e11 ? 1_000 : 1) : Date.parse(text)
  if (Number.isNaN(ms)) throw usage(`${where}: "${text}" is no time; write 2026-02-28T12:00:00Z.`)
  return ms
}
