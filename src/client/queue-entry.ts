/** The entry point `hapax/client/queue`: runs in a browser, and imports nothing of Node. */
export { indexedDbStorage } from './indexed-db.js'
export { type DurableQueue, durableQueue, type QueueCallOptions, type QueueOptions, type Resumed } from './queue.js'
export type { QueuedOperation, QueueStorage } from './queue-storage.js'
