import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noServer, serverUrl } from '../support/on-postgres.js'
import { noRedis, redisBinary, startRedis, type TestRedis } from '../support/redis-server.js'

/**
 * Every program in README and docs runs as a reader would paste it: in a process of its own, in a directory outside of
 * this repository that has `hapax` installed and the databases' packages, JavaScript by plain Node. It prints what its
 * `// prints:` comments say, in that order. Together they pass the type checker. Those that want PostgreSQL are given a
 * database of their own.
 */
const root = fileURLToPath(new URL('../../', import.meta.url))
const workplace = mkdtempSync(join(tmpdir(), 'hapax-docs-'))
const run = promisify(execFile)

const database = `docs_${process.pid}`

/** What a reader has installed beside `hapax`. */
const installed = [
  ...['libsql', 'pg', 'ioredis', 'redis', 'fastify', 'express', 'rate-limiter-flexible', '@fastify/cors'],
  ...['axios', 'ky', 'pino', '@opentelemetry/api'],
  ...['kysely', 'drizzle-orm', 'knex', 'typeorm', '@electric-sql/pglite'],
  ...['@types/node', '@types/pg', '@types/express'],
]

interface Program {
  readonly title: string
  readonly directory: string
  readonly file: string
  readonly text: string
}

const pages = ['README.md', 'examples/sandbox/README.md', ...pagesUnder('docs')]
const programs = pages.flatMap(programsOf)
const wantPostgres = programs.filter(({ text }) => text.includes('DATABASE_URL'))
const wantRedis = programs.filter(({ text }) => text.includes('REDIS_URL'))
const lacking = [...(serverUrl === undefined ? wantPostgres : []), ...(redisBinary === undefined ? wantRedis : [])]
const runnable = programs.filter((program) => !lacking.includes(program))
let redis: TestRedis | undefined

beforeAll(async () => {
  await onServer(`CREATE DATABASE ${database}`)
  if (redisBinary !== undefined) redis = await startRedis()
  const modules = join(workplace, 'node_modules')
  for (const owner of ['@types', '@fastify', '@electric-sql', '@opentelemetry'])
    mkdirSync(join(modules, owner), { recursive: true })
  symlinkSync(root, join(modules, 'hapax'))
  for (const name of installed) symlinkSync(join(root, 'node_modules', name), join(modules, name))
  for (const { directory, file, text } of programs) {
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, file), text)
  }
})
afterAll(async () => {
  rmSync(workplace, { recursive: true, force: true })
  await onServer(`DROP DATABASE ${database}`)
  await redis?.end()
})

describe('a program in the docs', () => {
  test('stands in the README, in at most fifteen lines', () => {
    const first = programs.find(({ title }) => title === 'README.md, program 1')
    expect(first?.text.trim().split('\n').length).toBeLessThanOrEqual(15)
  })

  test.each(runnable.map((program) => [program.title, program] as const))(
    'works when pasted: %s',
    async (_, program) => {
      const tsx = join(root, 'node_modules', '.bin', 'tsx')
      const runtime = program.file.endsWith('.mjs') ? process.execPath : tsx
      const { stdout } = await run(runtime, [program.file], {
        cwd: program.directory,
        timeout: 60_000,
        env: { ...process.env, DATABASE_URL: databaseUrl(), REDIS_URL: redis?.url },
      })
      const promised = [...program.text.matchAll(/\/\/ prints: (.*)$/gm)].map(([, line]) => line)
      if (promised.length > 0) expect(stdout.trimEnd().split('\n')).toEqual(promised)
    },
    70_000,
  )

  if (serverUrl === undefined) {
    test.skip.each(wantPostgres.map(({ title }) => title))(`works when pasted: %s (skipped: ${noServer})`, () => {})
  }
  if (redisBinary === undefined) {
    const alone = wantRedis.filter((program) => serverUrl !== undefined || !wantPostgres.includes(program))
    test.skip.each(alone.map(({ title }) => title))(`works when pasted: %s (skipped: ${noRedis})`, () => {})
  }

  test('passes the type checker', async () => {
    const config = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: { noUnusedLocals: false },
      include: ['**/*.mts'],
    }
    writeFileSync(join(workplace, 'tsconfig.json'), JSON.stringify(config))
    const tsc = join(root, 'node_modules', '.bin', 'tsc')
    const { stdout } = await run(tsc, ['-p', workplace], { timeout: 60_000 }).catch(
      (error: { stdout: string }) => error,
    )
    expect(stdout).toBe('')
  }, 70_000)
})

async function onServer(statement: string): Promise<void> {
  if (serverUrl === undefined) return
  const client = new pg.Client(serverUrl)
  await client.connect()
  await client.query(statement)
  await client.end()
}

function databaseUrl(): string {
  const url = new URL(serverUrl ?? 'postgres://127.0.0.1/none')
  url.pathname = `/${database}`
  return url.href
}

function pagesUnder(folder: string): string[] {
  const found = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  return found.filter((name) => name.endsWith('.md')).map((name) => join(folder, name))
}

function programsOf(page: string): Program[] {
  const blocks = readFileSync(join(root, page), 'utf8').matchAll(/^```(js|ts)\n(.*?)^```$/gms)
  return [...blocks].map(([, language, text = ''], index) => ({
    file: language === 'js' ? 'program.mjs' : 'program.mts',
    title: `${page}, program ${index + 1}`,
    directory: join(workplace, `${page.replaceAll('/', '-')}-${basename(page, '.md')}-${index + 1}`),
    text,
  }))
}
