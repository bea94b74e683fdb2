import process from 'node:process'

/**
 * A process of a bench: answers one message at a time, and ends with whoever started it.
 *
 * @param {(message: any) => unknown} answer
 */
export function answering(answer) {
  process.on('message', async (message) => {
    try {
      process.send?.({ answer: await answer(message) })
    } catch (error) {
      process.send?.({ failed: error instanceof Error ? error.stack : String(error) })
    }
  })
  process.on('disconnect', () => process.exit())
}
