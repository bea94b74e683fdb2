import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Claim, type Completion, keyOf, type Reservation, scopeOf, type Verdict } from 'hapax'
import { type SqliteStore, type SqliteStoreOptions, sqliteStore } from 'hapax/sqlite'
import Database from 'libsql'
import { onTestFinished } from 'vitest'

/** What the tests of the SQLite store start from. */

/** A path in a directory of its own, which goes when the test ends. */
export function freshPath(name = 'hapax.db'): string {
  const directory = mkdtempSync(join(tmpdir(), 'hapax-sqlite-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return join(directory, name)
}

/** An open store, closed when the test ends. */
export async function openStore(options: Partial<SqliteStoreOptions> = {}): Promise<SqliteStore> {
  const store = sqliteStore({ path: freshPath(), ...options })
  onTestFinished(() => store.close())
  await store.open()
  return store
}

export function reservation(key: string, changes: Partial<Reservation> = {}): Reservation {
  return {
    scope: scopeOf('acme'),
    key: keyOf(key),
    claimId: crypto.randomUUID(),
    operation: 'payments.create',
    fingerprints: ['v1:00' as Reservation['fingerprints'][0]],
    leaseMs: 30_000,
    retentionMs: 86_400_000,
    tombstoneMs: 86_400_000,
    onLeaseOver: 'doubt',
    onExpired: 'run',
    ...changes,
  }
}

export async function claimed(store: SqliteStore, key: string, changes: Partial<Reservation> = {}): Promise<Claim> {
  return claimOf(await store.reserve(reservation(key, changes)))
}

export function claimOf(verdict: Verdict): Claim {
  if (verdict.kind === 'reserved' || verdict.kind === 'resumed') return verdict.claim
  throw new Error(`The key was not won: ${verdict.kind}`)
}

export function completion(text = 'done'): Completion {
  const body = new TextEncoder().encode(text)
  return { answer: { kind: 'kept', status: 201, headers: [['content-type', 'text/plain']], body }, answerVersion: 1 }
}

/** Looks at a file from outside of any store. */
export function looking<T>(path: string, look: (database: Database.Database) => T): T {
  const database = new Database(path)
  try {
    database.exec('PRAGMA busy_timeout = 5000')
    return look(database)
  } finally {
    database.close()
  }
}

export function integrityOf(path: string): unknown {
  return looking(path, (database) => database.prepare('PRAGMA integrity_check').all([]))
}

/** Resolves with what a promise rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => Promise.reject(new Error(`It should have failed, but gave ${JSON.stringify(value)}`)),
    (error: unknown) => error,
  )
}

/** A promise that the test resolves when it is time. */
export function signal<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
