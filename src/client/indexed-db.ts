import type { QueuedOperation, QueueStorage } from './queue-storage.js'

/** The operations of a page, in IndexedDB: they survive its reload and the browser. All pages of one origin share them. */
export function indexedDbStorage(name = 'hapax'): QueueStorage {
  let opening: Promise<Database> | undefined

  /** One transaction. It is done when it is on disk, as far as the browser goes. */
  async function stored<T>(mode: 'readonly' | 'readwrite', step: (store: ObjectStore) => Asked<T>): Promise<T> {
    opening ??= opened(name, () => {
      opening = undefined
    })
    const database = await opening
    return new Promise((resolve, reject) => {
      const transaction = database.transaction(table, mode, { durability: 'strict' })
      const asked = step(transaction.objectStore(table))
      transaction.oncomplete = () => resolve(asked.result)
      transaction.onabort = () => reject(transaction.error)
    })
  }

  return {
    put: async (operation) => void (await stored('readwrite', (store) => store.put(operation))),
    remove: async (key) => void (await stored('readwrite', (store) => store.delete(key))),
    list: () => stored('readonly', (store) => store.getAll()),
    count: () => stored('readonly', (store) => store.count()),
  }
}

const table = 'operations'

/** `onClosed` when it cannot be used any more: the next step opens it anew. */
function opened(name: string, onClosed: () => void): Promise<Database> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1)
    request.onupgradeneeded = () => request.result.createObjectStore(table, { keyPath: 'key' })
    request.onerror = () => {
      onClosed()
      reject(request.error)
    }
    request.onsuccess = () => {
      request.result.onclose = onClosed
      // Somebody wants to delete it, or a later release to change it.
      request.result.onversionchange = () => {
        request.result.close()
        onClosed()
      }
      resolve(request.result)
    }
  })
}

/** Of IndexedDB what is used here: this project knows the types of Node only. */
declare const indexedDB: { open(name: string, version: number): Opening }

interface Asked<T> {
  readonly result: T
}

interface Opening extends Asked<Database> {
  readonly error: unknown
  onupgradeneeded: () => void
  onsuccess: () => void
  onerror: () => void
}

interface Database {
  createObjectStore(name: string, options: { keyPath: string }): unknown
  transaction(name: string, mode: string, options: { durability: 'strict' }): Transaction
  close(): void
  onclose: () => void
  onversionchange: () => void
}

interface Transaction {
  readonly error: unknown
  objectStore(name: string): ObjectStore
  oncomplete: () => void
  onabort: () => void
}

interface ObjectStore {
  put(operation: QueuedOperation): Asked<unknown>
  delete(key: string): Asked<unknown>
  getAll(): Asked<QueuedOperation[]>
  count(): Asked<number>
}
