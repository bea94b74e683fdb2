import type { QueuedOperation, QueueStorage } from 'hapax/client/queue'

/** A storage that forgets with its process, and tells what it was asked. */
export function memoryStorage(): QueueStorage & { readonly kept: Map<string, QueuedOperation> } {
  const kept = new Map<string, QueuedOperation>()
  return {
    kept,
    put: async (operation) => void kept.set(operation.key, operation),
    remove: async (key) => void kept.delete(key),
    list: async () => [...kept.values()],
    count: async () => kept.size,
  }
}
