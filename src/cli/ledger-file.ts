import { createReadStream } from 'node:fs'
import { HapaxError } from '../kernel/errors.js'
import type { LedgerEntry } from '../workers/ledger.js'
import { csvRows } from './csv.js'
import { linesOf } from './lines.js'

/** Reads a provider's ledger, a line at a time: JSON lines where the first one is an object, otherwise CSV with a head. */
export async function* ledgerFile(path: string, landed: readonly string[] | undefined): AsyncGenerator<LedgerEntry> {
  for await (const [row, fields] of rowsIn(path)) {
    const entry = entryOf(fields, `${path}, row ${row}`)
    // A line about something else than that it was done says nothing here.
    if (landed === undefined || landed.includes(entry.status ?? '')) yield entry
  }
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
    isJson = first.value.trimStart().startsWith('{')
    if (isJson) {
      yield [++row, parsed(first.value, `${path}, row ${row}`)]
      for await (const line of lines) if (line.trim() !== '') yield [++row, parsed(line, `${path}, row ${row}`)]
      return
    }
    for await (const cells of csvRows(first.value, lines)) {
      if (head === undefined) {
        head = cells.map((cell) => cell.trim().toLowerCase())
        continue
      }
      const names = head
      yield [++row, Object.fromEntries(cells.map((cell, index) => [names[index] ?? '', cell]))]
    }
  } catch (error) {
    throw (error as { code?: unknown }).code === 'ENOENT' ? unreadable(`${path} does not exist.`) : error
  } finally {
    stream.destroy()
  }
}

function parsed(line: string, where: string): Fields {
  try {
    return JSON.parse(line) as Fields
  } catch {
    throw unreadable(`${where}: this is no JSON.`)
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
  if (key === undefined) throw unreadable(`${where}: there is no key; name that column "key".`)
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
  const ms = /^\d+$/.test(text) ? Number(text) * (Number(text) < 1e11 ? 1_000 : 1) : Date.parse(text)
  if (Number.isNaN(ms)) throw unreadable(`${where}: "${text}" is no time; write 2026-02-28T12:00:00Z.`)
  return ms
}

function unreadable(message: string): HapaxError {
  return new HapaxError('store_unknown', message)
}
