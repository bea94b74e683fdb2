import { readFileSync } from 'node:fs'
import { eventNames, profiles } from 'hapax'
import { describe, expect, test } from 'vitest'
import { api } from './support/http-api.js'

/** What the documents say of threats, of polling, and of the standard that is none. */

const at = (path: string) => new URL(`../../${path}`, import.meta.url)
const text = (path: string) => readFileSync(at(path), 'utf8')
const page = (path: string) => text(path).replaceAll(/\s+/g, ' ')

/** The tests that a part of a page in docs/ points to. */
function testsIn(part: string): readonly string[] {
  return [...part.matchAll(/\]\(\.\.\/(test\/[^)]+)\)/g)].map(([, path = '']) => path)
}

describe('the threat model', () => {
  const model = text('docs/internals/threats.md')
  const [, found = ''] = text('docs/RELIABILITY.md').split('## What could go wrong')
  const [matrix = '', rest = ''] = found.split('### A checklist')
  const [checklist = ''] = rest.split('## Figures')
  const [, ...lines] = matrix.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('|---'))
  const threats = lines.map((line) => {
    const [threat = '', risk = '', prevented = '', told = '', shown = ''] = line
      .split('|')
      .slice(1)
      .map((cell) => cell.trim())
    return { threat, risk, prevented, told, shown }
  })

  test('says what it takes for granted: TLS, a WAF, a database that authenticates; and that it is about keys and records [S1-053]', () => {
    const [, assumed = ''] = page('docs/internals/threats.md').split('## What is assumed')
    const [assumptions = ''] = assumed.split('## ')
    for (const taken of [/TLS on every connection/, /\(WAF\)/, /database that asks for a password/, /authenticated/])
      expect(assumptions).toMatch(taken)
    expect(page('docs/internals/threats.md')).toMatch(/threat model of the mechanism: keys, records and stored answers/)
  })

  test('gives every threat a risk, the high ones first; each of those is prevented, and a test shows it [S1-056]', () => {
    const risks = threats.map(({ risk }) => risk)
    const order = ['high', 'medium', 'low']
    expect(new Set(risks)).toEqual(new Set(order))
    expect(risks).toEqual([...risks].sort((one, other) => order.indexOf(one) - order.indexOf(other)))
    expect(risks.filter((risk) => risk === 'high').length).toBeGreaterThanOrEqual(7)
    for (const { threat, prevented, shown } of threats) {
      expect(prevented.length, threat).toBeGreaterThan(20)
      expect(testsIn(shown).length, threat).toBeGreaterThan(0)
      for (const path of testsIn(shown)) expect(text(path), threat).toMatch(/\btest(\.\w+)?\(/)
    }
  })

  test('names of every threat that is not high an event to watch it by, and every event it names exists [S1-056]', () => {
    for (const { threat, risk, told } of threats) {
      const events = [...told.matchAll(/`(\w+)`/g)].map(([, name]) => name)
      if (risk !== 'high') expect(events.length, threat).toBeGreaterThan(0)
      for (const name of events) expect(eventNames, threat).toContain(name)
    }
  })

  test('comes with diagrams and a checklist to print, and is linked from the pages about the inside [S1-113]', () => {
    expect(text('docs/internals/README.md')).toContain('](threats.md)')
    expect(text('README.md')).toContain('](docs/internals/README.md)')
    expect(model.match(/^```mermaid\n(flowchart|sequenceDiagram)/gm)).toHaveLength(2)
    expect(text('docs/reference/states.md')).toContain('```mermaid\nstateDiagram-v2')
    const items = checklist.match(/^- \[ \] .{20,}\n.+$/gm) ?? []
    expect(items.length).toBeGreaterThanOrEqual(18)
    for (const asked of [
      /Two tenants/,
      /two nodes/,
      /Kill the process/,
      /Take the store away/,
      /Reaping/,
      /counted by tenant/,
    ])
      expect(items.join('\n')).toMatch(asked)
  })

  test('links every line of the checklist to a test that shows it [S1-113]', () => {
    const items = checklist.split('- [ ] ').slice(1)
    const shown = items.map((item) => {
      const title = checked.find(([line]) => item.startsWith(line))?.[1]
      return { item, title, isShown: title !== undefined && testsIn(item).some((path) => hasTest(text(path), title)) }
    })
    expect(shown.filter(({ isShown }) => !isShown)).toEqual([])
    expect(items).toHaveLength(checked.length)
  })
})

/** How each line of the checklist begins, and what stands in the title of a test that shows it: the requirement, mostly. */
const checked: readonly (readonly [line: string, title: string])[] = [
  ['Two identical POSTs at the same time', 'S1-095'],
  ['The same key with another body', 'S1-096'],
  ['Two tenants send the same key', 'S1-097'],
  ['The same key and body by another user', 'S1-098'],
  ['Scope and key are the unique constraint', 'S1-099'],
  ['The stored answer of one tenant', 'S1-112'],
  ['The same key on two nodes at once', 'S1-100'],
  ['A 409 says `Retry-After`', 'S1-101'],
  ['A POST without `Idempotency-Key`', 'S1-102'],
  ['Kill the process after the outside call', 'a lease that ran out is a reason to ask, not to charge again'],
  ['Take the store away', 'S1-104'],
  ['The handler answers 500', 'S1-105'],
  ['Kill a worker after the provider answered', 'S1-103'],
  ['An effect that always fails', 'S1-077'],
  ['A webhook with another secret', 'as %s is a problem with status %d, and nothing was asked of the store'],
  ['Every route that changes something', 'S1-106'],
  ['A retry after the retention', 'S1-107'],
  ['Reaping deletes what has expired', 'S1-108'],
  ['What is stuck in progress', 'S1-111'],
  ['Somebody compares the ledger', 'S1-068'],
  ['`replayed`, `met_in_progress` and `mismatched`', 'S1-109'],
  ['They are counted by tenant', 'S1-110'],
  ['`store_failed`, `circuit_opened`', '%s wakes somebody'],
  ['`left_to_operator`, `effect_unresolved`', '%s reaches somebody'],
]

/** Whether a file has a test in whose title these words stand. */
function hasTest(source: string, words: string): boolean {
  const titles = source.matchAll(/\btest(?:\.\w+)?(?:\([^'`]*?\))?\(\s*(['`])(.*?)\1/gs)
  return [...titles].some(([, , title = '']) => title.includes(words))
}

test('a stored answer tells whether a request ran and not how things stand now: the guide says so [S1-093]', () => {
  expect(page('docs/guides/retries.md')).toMatch(
    /A stored answer says whether this request already ran.* It does not say how things stand now: .*What is true now, a `GET` of the resource says/,
  )
})

test('where nothing is atomic over both sides, one decides: outbox, saga or the key of the provider; the guide says how [S2-140]', () => {
  const [, decided = ''] = page('docs/guides/work.md').split('## Which of them?')
  const [section = ''] = decided.split('## ')
  expect(section).toMatch(/Where one thing is outside, no transaction holds both, and you have to decide/)
  for (const choice of [
    /it is one atomic operation/,
    /the outbox: an \[effect\]\(effects\.md\)/,
    /`work\.call` with `honoursKeyFor` \| the downstream key/,
    /`work\.call` with `lookup`/,
    /a saga: one phase for each step, and for each step one that undoes it/,
  ])
    expect(section).toMatch(choice)
})

test('a key is not for polling: the guides point to a GET, and so does what an owner publishes [S0-24]', () => {
  expect(page('docs/guides/http.md')).toMatch(
    /A repeated request is a retry, not a question: to follow a payment, `GET` the payment/,
  )
  const [, template = ''] = page('docs/guides/your-api-contract.md').split('```markdown')
  expect(template).toMatch(/\*\*Not for polling\.\*\* To follow <a payment>, read <the payment>/)
})

test('which routes want a key is decided by what their methods mean, one by one, and the guide says how [S2-137]', () => {
  const [, decided = ''] = page('docs/guides/http.md').split('## Which routes want a key')
  expect(decided).toMatch(/`PUT` and `DELETE` are idempotent by their meaning/)
  expect(decided).toMatch(/`POST` and `PATCH` make something or move something, so they want a key/)
})

test('a key holds nothing private: the guide says so, to clients too [S2-065]', () => {
  expect(page('docs/guides/fingerprints.md')).toMatch(/an e-mail address is not, since keys must hold nothing private/)
  expect(page('docs/guides/your-api-contract.md')).toMatch(/Put nothing private into it/)
})

test('the draft and its end are named, and each API says which syntax of keys is in force [S2-008]', async () => {
  const guide = page('docs/guides/your-api-contract.md')
  expect(guide).toContain('draft-ietf-httpapi-idempotency-key-header')
  expect(guide).toMatch(
    /Its last version, 07, expired on 18 April 2026 and did not become an RFC: say which version you follow/,
  )
  const syntaxes = page('docs/guides/fingerprints.md')
  const all = Object.values(profiles)
  const { read } = await api('fastify', {
    routes: all.map((profile) => ({
      path: `/${profile.name}`,
      options: {
        name: profile.name,
        profile,
        ...(profile.replay.kind === 'current_state' && { currentState: () => undefined }),
      },
    })),
  })
  const { routes } = JSON.parse((await read('/idempotency/policy')).text)
  const inForce = routes.map(({ name, key }: { name: string; key: { syntax: string } }) => [name, key.syntax])
  expect(inForce).toEqual(all.map(({ name, key }) => [name, key.syntax ?? 'lenient']))
  for (const [, syntax] of inForce) expect(syntaxes).toMatch(new RegExp(`\\| \`${syntax}\``))
})
