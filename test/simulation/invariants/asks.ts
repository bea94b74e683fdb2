import type { StoredRecord } from '../../../src/engine/record.js'
import { subjectOf, timeoutMs } from '../application.js'
import type { Act, Ask } from '../provider.js'
import { demand } from '../violation.js'

/** What is known about whether something landed. */
export interface Known {
  readonly records: () => readonly StoredRecord[]
  /** How often it was found out of the effect with this downstream key that it had not landed. */
  readonly notLanded: (downstreamKey: string) => number
  /** How often somebody was told of it that nothing had happened. */
  readonly toldNo: ReadonlyMap<string, number>
}

/** One downstream key stands for one thing that one subject wants: under another's it would be given what is not its own. `'none'` is no key. */
export function judgeKey({ service, key, subject }: Ask, subjects: Map<string, string>): void {
  if (key === 'none') return
  const asked = `${service.name} for ${subject}`
  const known = subjects.get(key)
  if (known === undefined) subjects.set(key, asked)
  else demand(known === asked, () => `a ${asked} was asked for under the downstream key of a ${known}`)
}

/** A provider that honours no keys is never asked blindly again: each time but the first it is known that the last did not land. */
export function judgeAsk({ service, key, subject }: Ask, earlier: number, known: Known): void {
  if (service.remembersMs !== undefined || earlier === 0) return
  const record = known
    .records()
    .find((one) => subjectOf({ tenant: one.scope, key: one.key }, one.generation) === subject)
  const said = record?.evidence.filter(({ says }) => says === 'not_landed').length ?? 0
  const found = said + known.notLanded(key) + (known.toldNo.get(key) ?? 0)
  demand(earlier <= found, () => `a second ${service.name} for ${subject} was asked for blindly`)
}

/** A provider that honours keys is asked again only while it surely knows what it has done, however long that is on its way. */
export function judgeRemembered({ service, key, subject }: Ask, ledger: readonly Act[], now: number): void {
  const { name, remembersMs } = service
  if (remembersMs === undefined) return
  const act = ledger.find((one) => one.key === key && one.service === name)
  const isKnown = act === undefined || now + timeoutMs <= act.at + remembersMs
  demand(isKnown, () => `a ${name} for ${subject} was asked for again when its provider may have forgotten the key`)
}
