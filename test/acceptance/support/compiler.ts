import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/** What the TypeScript compiler says of a program that uses Hapax, and of the types that Hapax publishes. */

const root = fileURLToPath(new URL('../../../', import.meta.url))
const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  lib: ['lib.es2023.d.ts'],
  types: ['node'],
  strict: true,
  noImplicitReturns: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
  noEmit: true,
}

export interface Compiled {
  /** The complaints about each program, by its name. */
  readonly complaints: Readonly<Record<string, readonly string[]>>
  /** Names of exported classes. */
  readonly classes: readonly string[]
  /** `Interface.property` for each property that a user could assign to. */
  readonly writable: readonly string[]
  /** The values of `kind` of each exported union that is told apart by one. */
  readonly unions: Readonly<Record<string, readonly string[]>>
}

/** Compiles programs that stand in memory only, next to the declaration files of the entry points. */
export function compiled(entryPoints: readonly string[], programs: Readonly<Record<string, string>>): Compiled {
  const texts = new Map(Object.entries(programs).map(([name, text]) => [pathOf(name), text]))
  const paths = entryPoints.map((path) => root + path)
  const program = ts.createProgram([...paths, ...texts.keys()], options, hostWith(texts))
  const checker = program.getTypeChecker()
  const symbols = paths.flatMap((path) => {
    const source = program.getSourceFile(path)
    const entry = source && checker.getSymbolAtLocation(source)
    if (entry === undefined) throw new Error(`${path} exports nothing`)
    return checker.getExportsOfModule(entry).map((symbol) => resolved(symbol, checker))
  })
  const complaintsOf = (name: string) =>
    ts
      .getPreEmitDiagnostics(program, program.getSourceFile(pathOf(name)))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
  return {
    complaints: Object.fromEntries(Object.keys(programs).map((name) => [name, complaintsOf(name)])),
    classes: symbols.filter(({ flags }) => flags & ts.SymbolFlags.Class).map(({ name }) => name),
    writable: symbols.flatMap(writableMembers),
    unions: Object.fromEntries(symbols.flatMap((symbol) => kindsOf(symbol, checker))),
  }
}

function pathOf(name: string): string {
  return `${root}${name}.ts`
}

function hostWith(texts: ReadonlyMap<string, string>): ts.CompilerHost {
  const host = ts.createCompilerHost(options)
  return {
    ...host,
    fileExists: (path) => texts.has(path) || host.fileExists(path),
    readFile: (path) => texts.get(path) ?? host.readFile(path),
    getSourceFile(path, target) {
      const text = texts.get(path)
      return text === undefined ? host.getSourceFile(path, target) : ts.createSourceFile(path, text, target)
    },
  }
}

function resolved(symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
}

function writableMembers(symbol: ts.Symbol): string[] {
  const members = (symbol.declarations ?? []).filter(ts.isInterfaceDeclaration).flatMap(({ members }) => [...members])
  return members
    .filter(ts.isPropertySignature)
    .filter((member) => !member.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ReadonlyKeyword))
    .map((member) => `${symbol.name}.${member.name.getText()}`)
}

function kindsOf(symbol: ts.Symbol, checker: ts.TypeChecker): [string, string[]][] {
  if (!(symbol.flags & ts.SymbolFlags.TypeAlias)) return []
  const type = checker.getDeclaredTypeOfSymbol(symbol)
  if (!type.isUnion()) return []
  const kinds = type.types.map((member) => {
    const kind = member.getProperty('kind')
    const literal = kind && checker.getTypeOfSymbol(kind)
    return literal?.isStringLiteral() ? literal.value : undefined
  })
  return kinds.every((kind) => kind !== undefined) ? [[symbol.name, kinds]] : []
}
