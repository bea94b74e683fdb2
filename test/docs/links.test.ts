import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/** Every page that a page points to is there, and so is the heading that it names. */

const root = fileURLToPath(new URL('../..', import.meta.url))
const pages = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], { cwd: root })
  .toString()
  .trim()
  .split('\n')
  .filter((page) => existsSync(join(root, page)))

test('there are pages to look at', () => {
  expect(pages).toContain('README.md')
  expect(pages.flatMap((page) => linksIn(page)).length).toBeGreaterThan(100)
})

test.each(pages)('%s points to nothing that is not there', (page) => {
  expect(linksIn(page).filter((link) => !leads(page, link))).toEqual([])
})

/** Of the prose: what stands in a block of code points nowhere. */
function linksIn(page: string): readonly string[] {
  const links = [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
  return links.filter((link) => !/^[a-z]+:/.test(link))
}

function leads(page: string, link: string): boolean {
  const [path = '', heading] = link.split('#')
  const target = path === '' ? page : relative(root, join(root, dirname(page), path))
  if (!existsSync(join(root, target))) return false
  return heading === undefined || !target.endsWith('.md') || headingsOf(target).has(heading)
}

/** As the sites that show such pages name them. */
function headingsOf(page: string): ReadonlySet<string> {
  const titles = [...prose(page).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => title)
  return new Set(
    titles.map((title) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

function prose(page: string): string {
  return readFileSync(join(root, page), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '')
}
