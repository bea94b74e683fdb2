import { expect } from 'vitest'
import type { FileNode, TestFile } from './states-file.js'
import { type Gateway, startGateway } from './states-gateway.js'
import { startNode } from './states-process.js'

/** A handler that was killed in the middle of its effect, and somebody who tries its key again. */

/** A process is killed while the provider has its charge and it has no answer. Gives the end of its lease. */
export async function killedWhileCharging(file: TestFile, given?: Gateway): Promise<number> {
  const gateway = given ?? (await startGateway())
  const process = await startNode(file.path)
  process.run({ key: 'k', handler: 'charges', gateway: gateway.url })
  await gateway.charged()
  await process.kill()
  return Number(file.row('k').locked_until)
}

/** Tries the key again on this node and gives the code of the refusal; a handler that runs fails the test. */
export async function retry({ hapax }: FileNode): Promise<string> {
  const policy = hapax.policy({ name: 'payments.create' })
  const run = hapax.run({ scope: 'acme', key: 'k', input: 1, policy }, async () => expect.fail('the handler ran again'))
  return run.then(
    () => 'it ran',
    (error) => error.code,
  )
}
