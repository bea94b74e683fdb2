import { setTimeout as delay } from 'node:timers/promises'
import { type Child, childOf } from './child.js'
import type { Providers } from './providers.js'
import { restartsOf } from './restarts.js'

export interface Api {
  /** Hands a signal on to the API, which knows what a first and a second one mean. */
  pass(signal: NodeJS.Signals): void
  /** The exit code, once there is no API any more. */
  readonly ended: Promise<number>
}

/** Longer than the API gives itself. */
const endWithinMs = 20_000

/** Keeps the API running until `stopping`. Where it first served it serves again. */
export function keepApi(providers: Providers, stopping: AbortSignal): Api {
  const restarts = restartsOf('the API')
  let child: Child | undefined

  async function keep(): Promise<number> {
    let served: string | undefined
    while (!stopping.aborted) {
      const port = served === undefined ? {} : { PORT: new URL(served).port }
      const env = { HAPAX_PROVIDERS_URL: providers.url, ...port }
      child = childOf({ file: 'main.js', env, stdout: 'inherit' })
      const url = urlIn(await child.told)
      // Beside its life: it may end before they answer.
      if (url !== undefined) void providers.sendEventsTo(url)
      const { code, how } = await child.ended
      child = undefined
      served ??= url
      // What keeps it from starting at all, it has said itself.
      if (stopping.aborted || served === undefined) return code ?? 1
      const pauseMs = restarts.after({ wasReady: url !== undefined, how })
      if (pauseMs === undefined) return 1
      await delay(pauseMs, undefined, { signal: stopping }).catch(() => undefined)
    }
    return 0
  }

  const ended = keep()
  stopping.addEventListener('abort', () => void delay(endWithinMs, undefined, { ref: false }).then(kill))
  function kill(): void {
    child?.process.kill('SIGKILL')
  }
  return { pass: (signal) => void child?.process.kill(signal), ended }
}

function urlIn(told: unknown): string | undefined {
  const ready = (told as { ready?: unknown } | undefined)?.ready
  return typeof ready === 'string' ? ready : undefined
}
