/** Plays a job on an application of its own: its steps one after another, and what came of each. */
import { application } from './application.mjs'
import { openStore } from './stores.mjs'

/** @param {{ store: any, provider: string, scope: string, keys: 'honoured' | 'forgotten', steps: any[] }} job */
export async function play(job) {
  const opened = await openStore(job.store)
  const running = application(opened, job)
  const steps = stepsOf(running, opened, job)
  const came = []
  try {
    for (const step of job.steps) came.push((await steps[step.do](step)) ?? null)
  } finally {
    await running.hapax.close()
    await opened.end()
  }
  return came
}

/** @returns {Record<string, (step: any) => unknown>} */
function stepsOf(
  { hapax, gateway, worker, reconciler, rides, bookings, charges, crowd, webhooks },
  { setTime },
  { scope },
) {
  return {
    time: ({ at }) => setTime(at),
    fault: ({ fault }) => gateway.failWith(fault),
    ride: () => post(rides),
    book: () => post(bookings),
    crowd: () => {
      const keys = Array.from({ length: 8 }, (_, number) => `k${number}`)
      crowd.expect(keys)
      return Promise.all(
        keys.map(async (key) => {
          const answer = await post(charges, key)
          crowd.isHere(key)
          return answer
        }),
      )
    },
    deliver: ({ eventId, event }) =>
      webhooks.receive({ headers: { 'event-id': eventId }, body: Buffer.from(JSON.stringify(event)) }),
    sweep: async () => (await hapax.chores.sweep(10)).length,
    resume: async () => (await hapax.chores.resume(10)).map(({ outcome, kind }) => outcome?.kind ?? kind),
    reconcile: () => hapax.chores.reconcile(10),
    effects: () => worker.runOnce(),
    'reconcile effects': () => reconciler.runOnce(),
    state: async () => {
      const record = await hapax.find({ scope, key: 'k' })
      return record && { state: record.state, at: record.recoveryPoint }
    },
  }
}

/**
 * @param {(request: Request) => Promise<Response>} route
 * @param {string} [key]
 */
async function post(route, key = 'k') {
  const headers = { 'idempotency-key': key, 'content-type': 'application/json' }
  const body = JSON.stringify({ who: key === 'k' ? 'ann' : key })
  const request = new Request('http://rides/rides', { method: 'POST', headers, body })
  const response = await route(request)
  const said = await response.text()
  const code = response.status < 400 ? undefined : JSON.parse(said).code
  return { status: response.status, body: said, code, replayed: response.headers.get('idempotent-replayed') === 'true' }
}
