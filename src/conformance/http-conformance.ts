import { answers } from './http/answers.js'
import { bodies } from './http/bodies.js'
import { concurrency } from './http/concurrency.js'
import { cors } from './http/cors.js'
import { durability } from './http/durability.js'
import { encodings } from './http/encodings.js'
import { failures } from './http/failures.js'
import { goingAway } from './http/going-away.js'
import type { HttpHarness } from './http/harness.js'
import { headers } from './http/headers.js'
import { keys } from './http/keys.js'
import { methods } from './http/methods.js'
import { protection } from './http/protection.js'
import { scopes } from './http/scopes.js'
import { smuggling } from './http/smuggling.js'
import { type HttpShow, playHttp } from './http/stage.js'
import type { ConformanceCase } from './store-conformance.js'

/**
 * Every promise that an adapter makes to the clients of an application, as cases for any test runner, over a real port.
 * No adapter may skip one.
 *
 * @example
 * for (const { name, run } of httpConformance(harness)) test(name, run)
 */
export function httpConformance(harness: HttpHarness): readonly ConformanceCase[] {
  return Object.entries(subjects).flatMap(([subject, promises]) =>
    Object.entries(promises).map(([name, show]) => ({
      subject,
      name,
      skip: undefined,
      run: () => playHttp(harness, show),
    })),
  )
}

const subjects: Readonly<Record<string, Readonly<Record<string, HttpShow>>>> = {
  answers,
  headers,
  keys,
  methods,
  bodies,
  encodings,
  concurrency,
  scopes,
  failures,
  durability,
  'going away': goingAway,
  smuggling,
  protection,
  cors,
}
