import { readFileSync } from 'node:fs'
import { catalogue, type ErrorCode, errorsPage, eventNames, HapaxError, profiles } from 'hapax'
import { describe, expect, test } from 'vitest'
import { problemReply } from '../../src/http/problem.js'
import { statusOf } from '../../src/http/statuses.js'

const page = (name: string) => readFileSync(new URL(`../../docs/reference/${name}.md`, import.meta.url), 'utf8')
const entries = Object.entries(catalogue) as [ErrorCode, (typeof catalogue)[ErrorCode]][]

describe('the page of errors', () => {
  const text = page('errors')
  const headings = [...text.matchAll(/^## (\w+)$/gm)].map(([, code]) => code)

  test('has exactly the codes of the catalogue, in its order', () => {
    expect(headings).toEqual(Object.keys(catalogue))
  })

  test.each(entries)('tells of %s what the catalogue says, its status, and what to do', (code, entry) => {
    const section = text.split(/^## /m).find((part) => part.startsWith(`${code}\n`)) ?? ''
    const facts = `fault: ${entry.fault} · retryable: ${entry.retryable ? 'yes' : 'no'} · status: ${statusOf(code, entry.fault)}`
    const [, summary, found, advice] = section.split('\n\n').map((paragraph) => paragraph.trim())
    expect(summary).toBe(entry.summary)
    expect(found).toBe(facts)
    expect(advice?.length).toBeGreaterThan(20)
  })

  test('has a heading for the type of every problem, and no heading that no type leads to', () => {
    const types = entries.map(([code]) => typeOf(code))
    expect(types.map((type) => type.split('#')[1])).toEqual(headings)
  })
})

describe('the page of errors that an API serves', () => {
  const html = errorsPage()

  test('has exactly the codes of the catalogue, each with an anchor of its own and a link to it', () => {
    const sections = [...html.matchAll(/<section id="(\w+)"/g)].map(([, code]) => code)
    expect(sections).toEqual(Object.keys(catalogue))
    const links = [...html.matchAll(/<a href="#(\w+)">(\w+)<\/a>/g)].map(([, href, shown]) => [href, shown])
    expect(links).toEqual(Object.keys(catalogue).map((code) => [code, code]))
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test.each(entries)('tells of %s what the catalogue says, its status, and what to do', (code, entry) => {
    expect(told(html, code)).toEqual({
      summary: entry.summary,
      Status: String(statusOf(code, entry.fault)),
      'Whose fault': expect.stringMatching(new RegExp(`\\(${entry.fault}\\)$`)),
      Retryable: entry.retryable ? 'yes' : 'no',
      'What to do': expect.stringMatching(/.{20}/),
    })
  })

  test('has the statuses of the profile that it is made for', () => {
    const code = 'idempotency_key_reused_with_different_payload'
    expect(told(errorsPage(profiles.stripe), code).Status).toBe('400')
    expect(told(errorsPage(profiles.marketplace), code).Status).toBe('409')
  })

  test('can be read by everybody, and takes nothing from elsewhere', () => {
    expect(html).toMatch(/^<!doctype html>\n<html lang="en">/)
    expect(html.match(/<(title|main|h1)>/g)).toHaveLength(3)
    const labels = [...html.matchAll(/aria-labelledby="([^"]+)"/g)].map(([, id]) => id)
    expect(labels).toHaveLength(entries.length)
    for (const id of labels) expect(html).toContain(`<h2 id="${id}">`)
    expect(html).not.toMatch(/<(script|link|img)|src=|url\(|@import|https?:/)
  })
})

test('the page of events has exactly the events there are', () => {
  const listed = [...page('events').matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
  expect(listed).toEqual([...eventNames])
})

/** The type that a problem of this code is sent with. */
function typeOf(code: ErrorCode): string {
  const { body } = problemReply(new HapaxError(code), profiles.ietf)
  return JSON.parse(Buffer.from(body).toString()).type
}

/** What the served page says about one code. */
function told(html: string, code: string): Record<string, string> {
  const section = html.split('<section ').find((part) => part.startsWith(`id="${code}"`)) ?? ''
  const terms = [...section.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g)].map(([, term, says]) => [term, says])
  return { summary: /<p>(.*?)<\/p>/.exec(section)?.[1] ?? '', ...Object.fromEntries(terms) }
}
