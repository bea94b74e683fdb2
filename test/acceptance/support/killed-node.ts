import type { Duration } from 'hapax'
import { expect } from 'vitest'
import { type Gateway, startGateway } from './gateway.js'
import { startNode } from './node-process.js'
import type { FileNode, TestFile } from './test-file.js'

/** A process that is killed in the middle of its handler, and somebody who tries its key again. */

/** A process is killed while the provider has its charge and it has no answer. Gives the end of its lease. */
export async function killedWhileCharging(file: TestFile, given?: Gateway): Promise<number> {
  const gateway = given ?? (await startGateway())
  const process = await startNode(file.path)
  process.run({ key: 'k', handler: 'charges', gateway: gateway.url })
  await gateway.charged()
  await process.kill()
  return Number(file.row('k').locked_until)
}

interface HalfWay {
  readonly path: string
  readonly key: string
  readonly lease: Duration
  readonly onCrash?: 'unknown' | 'retry'
  /** In its handler, or inside a transaction that has already written a row. */
  readonly where: 'handler' | 'transaction'
}

/** A process is killed half-way through a request. */
export async function crashHalfWay({ path, key, lease, onCrash = 'unknown', where }: HalfWay): Promise<void> {
  const process = await startNode(path)
  const policy = { lease, onCrash, maxRun: '60m' } as const
  if (where === 'handler') {
    process.run({ key, handler: 'hangs', policy })
    await process.heard('started', key)
  } else {
    process.run({ key, handler: 'pays, and never commits', policy })
    await process.heard('inserted', key)
  }
  await process.kill()
}

/** Tries the key again on this node and gives the code of the refusal; a handler that runs fails the test. */
export async function retry({ hapax }: FileNode): Promise<string> {
  const policy = hapax.policy({ name: 'payments.create' })
  const run = hapax.run({ scope: 'acme', key: 'k', policy }, async () => expect.fail('the handler ran again'))
  return run.then(
    () => 'it ran',
    (error) => error.code,
  )
}
