import { readFileSync } from 'node:fs'
import { catalogue, eventNames } from 'hapax'
import { describe, expect, test } from 'vitest'

const page = (name: string) => readFileSync(new URL(`../../docs/reference/${name}.md`, import.meta.url), 'utf8')

describe('the page of errors', () => {
  const text = page('errors')
  const headings = [...text.matchAll(/^## (\w+)$/gm)].map(([, code]) => code)

  test('has exactly the codes of the catalogue, in its order', () => {
    expect(headings).toEqual(Object.keys(catalogue))
  })

  test.each(Object.entries(catalogue))('tells of %s what the catalogue says, and what to do', (code, entry) => {
    const section = text.split(/^## /m).find((part) => part.startsWith(`${code}\n`)) ?? ''
    const facts = `fault: ${entry.fault} · retryable: ${entry.retryable ? 'yes' : 'no'}`
    const [, summary, found, advice] = section.split('\n\n').map((paragraph) => paragraph.trim())
    expect(summary).toBe(entry.summary)
    expect(found).toBe(facts)
    expect(advice?.length).toBeGreaterThan(20)
  })
})

test('the page of events has exactly the events there are', () => {
  const listed = [...page('events').matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
  expect(listed).toEqual([...eventNames])
})
