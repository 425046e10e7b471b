// Judges histories of `towtank store torture --history FILE` with porcupine, a checker of linearizability by
// Anish Athalye (MIT): each object of each round against a register.
//
//	porcupine [-planted N] [-seed S] FILE
//
// The file is read a round at a time. A register begins as the last round left it: with the value of the read
// at its end, and without one before the first round. An operation without an answer may take effect at any
// time after its call; a read without an answer says nothing and is left out. With -planted, N reads are
// changed, one at a time, such that no order explains them, and each must be found.
//
// Exit codes: 0 all is linearizable (and all planted reads were found), 1 something is not, 2 bad input.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// How long the search of one object in one round may take; longer is no verdict, and counts as a failure.
const patience = 2 * time.Minute

// register is what an object holds.
type register struct {
	is    bool
	value uint64
}

func (held register) String() string {
	if !held.is {
		return "no object"
	}
	return fmt.Sprint(held.value)
}

// operation is a line of the file. Lines without a value differ from lines whose value is null.
type operation struct {
	Round    uint64          `json:"round"`
	Object   string          `json:"object"`
	Client   *int            `json:"client"`
	Kind     string          `json:"kind"`
	Value    json.RawMessage `json:"value"`
	Called   *int64          `json:"called_ns"`
	Answered *int64          `json:"answered_ns"`
	held     register
}

// parse reads a line; what is missing or unknown is refused.
func parse(line []byte) (operation, error) {
	var found operation
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&found); err != nil {
		return found, err
	}
	if found.Round == 0 || found.Object == "" || found.Called == nil {
		return found, errors.New("`round`, `object` or `called_ns` is missing")
	}
	if found.Answered != nil && *found.Answered < *found.Called {
		return found, errors.New("it was answered before it was called")
	}
	if found.Client == nil && (found.Kind != "read" || found.Answered == nil) {
		return found, errors.New("only a read that was answered has no client")
	}
	isNull := string(found.Value) == "null"
	switch {
	case found.Kind == "read" && found.Answered == nil && found.Value == nil:
	case (found.Kind == "read" || found.Kind == "remove") && isNull:
	case (found.Kind == "read" || found.Kind == "write") && found.Value != nil && !isNull:
		if err := json.Unmarshal(found.Value, &found.held.value); err != nil {
			return found, err
		}
		found.held.is = true
	default:
		return found, fmt.Errorf("a `%s` cannot have the value `%s`", found.Kind, found.Value)
	}
	return found, nil
}

// model is a register that begins with a value. The input of an operation is nil for a read.
func model(before register) porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return before },
		Step: func(state, input, output interface{}) (bool, interface{}) {
			if input == nil {
				return output.(register) == state.(register), state
			}
			return true, input.(register)
		},
	}
}

// verdict asks porcupine about one object of one round.
func verdict(before register, history []operation) porcupine.CheckResult {
	var asked []porcupine.Operation
	for _, done := range history {
		one := porcupine.Operation{Call: *done.Called, Return: math.MaxInt64}
		if done.Answered != nil {
			one.Return = *done.Answered
		}
		switch {
		case done.Kind != "read":
			one.Input = done.held
		case done.Answered == nil:
			continue
		default:
			one.Output = done.held
		}
		asked = append(asked, one)
	}
	return porcupine.CheckOperationsTimeout(model(before), asked, patience)
}

// staleValue is the value that the object had before the one that a read returned, if no order explains a read
// of it. Each number is written once. A write of it was answered before another write was called, and that one
// was answered before the read was called.
func staleValue(before register, history []operation, at int) (register, bool) {
	read := history[at]
	if read.Kind != "read" || read.Answered == nil || !read.held.is {
		return register{}, false
	}
	var seen *operation
	for i := range history {
		if history[i].Kind == "write" && history[i].held == read.held {
			seen = &history[i]
		}
	}
	if seen == nil || seen.Answered == nil || *seen.Answered >= *read.Called {
		return register{}, false
	}
	stale, answered := before, int64(-1)
	for _, other := range history {
		isWrite := other.Kind == "write" && other.Answered != nil
		if isWrite && *other.Answered < *seen.Called && *other.Answered > answered {
			stale, answered = other.held, *other.Answered
		}
	}
	// A removal may be repeated, so a read of no object may be explained by another one.
	return stale, stale.is
}

// part is an object in a round.
type part struct {
	round  uint64
	object string
	before register
	all    []operation
}

// judge holds what was counted and found.
type judge struct {
	operations, unanswered, rounds int
	objects                        map[string]register
	failed                         int
	largest                        int
	// The parts in which reads can be planted, all of them or a sample.
	parts  []part
	sample int
	drawn  int
	random *rand.Rand
}

// round judges the operations of one round.
func (judge *judge) round(number uint64, all []operation) error {
	objects := map[string][]operation{}
	for _, one := range all {
		objects[one.Object] = append(objects[one.Object], one)
	}
	names := make([]string, 0, len(objects))
	for name := range objects {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		history := objects[name]
		before, isKnown := judge.objects[name]
		if !isKnown && judge.rounds > 0 {
			return fmt.Errorf("round %d: what `%s` held before is not known", number, name)
		}
		for _, one := range history {
			if one.Answered == nil {
				judge.unanswered++
			}
		}
		if len(history) > judge.largest {
			judge.largest = len(history)
		}
		if result := verdict(before, history); result != porcupine.Ok {
			judge.failed++
			fmt.Printf("NOT linearizable: round %d, `%s`, %d operations: %s\n", number, name, len(history), result)
		} else if judge.sample > 0 {
			judge.keep(part{number, name, before, history})
		}
	}
	judge.operations += len(all)
	judge.rounds++
	// The next round begins with what the reads at the end of this one returned.
	judge.objects = map[string]register{}
	for _, one := range all {
		if one.Client == nil {
			judge.objects[one.Object] = one.held
		}
	}
	return nil
}

// keep draws parts that are linearizable, for planted reads, each with the same probability.
func (judge *judge) keep(next part) {
	judge.drawn++
	if len(judge.parts) < judge.sample {
		judge.parts = append(judge.parts, next)
	} else if at := judge.random.Intn(judge.drawn); at < judge.sample {
		judge.parts[at] = next
	}
}

// file judges all rounds of a file; returns the number of different objects.
func (judge *judge) file(input io.Reader) (int, error) {
	lines := bufio.NewScanner(input)
	names := map[string]bool{}
	var round []operation
	for number := 1; lines.Scan(); number++ {
		one, err := parse(lines.Bytes())
		if err != nil {
			return 0, fmt.Errorf("line %d: %w", number, err)
		}
		if len(round) > 0 && one.Round != round[0].Round {
			if one.Round != round[0].Round+1 {
				return 0, fmt.Errorf("line %d: round %d follows %d", number, one.Round, round[0].Round)
			}
			if err := judge.round(round[0].Round, round); err != nil {
				return 0, err
			}
			round = round[:0:0]
		}
		round = append(round, one)
		names[one.Object] = true
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	if len(round) == 0 {
		return 0, errors.New("there is no operation in it")
	}
	return len(names), judge.round(round[0].Round, round)
}

// drawPart draws one of the parts; for every second planted read it is the longest of eight, where most
// operations overlap.
func (judge *judge) drawPart(planted int) part {
	which := judge.parts[judge.random.Intn(len(judge.parts))]
	for draw := 0; planted%2 == 1 && draw < 7; draw++ {
		if other := judge.parts[judge.random.Intn(len(judge.parts))]; len(other.all) > len(which.all) {
			which = other
		}
	}
	return which
}

// plant changes reads, each another one, one at a time, and returns how many were found.
func (judge *judge) plant(count int) (found int, err error) {
	type place struct {
		round  uint64
		object string
		at     int
	}
	done := map[place]bool{}
	for planted := 0; planted < count; planted++ {
		var which part
		at, stale, can := 0, register{}, false
		for try := 0; try < 10_000 && len(judge.parts) > 0 && !can; try++ {
			which = judge.drawPart(planted)
			at = judge.random.Intn(len(which.all))
			if !done[place{which.round, which.object, at}] {
				stale, can = staleValue(which.before, which.all, at)
			}
		}
		if !can {
			return found, fmt.Errorf("only %d of %d reads can be planted", planted, count)
		}
		done[place{which.round, which.object, at}] = true
		changed := append([]operation(nil), which.all...)
		was := changed[at].held
		changed[at].held = stale
		result := verdict(which.before, changed)
		fmt.Printf("planted: round %d, `%s`, operation %d of %d reads %s instead of %s: %s\n",
			which.round, which.object, at+1, len(changed), stale, was, result)
		if result == porcupine.Illegal {
			found++
		}
	}
	return found, nil
}

func main() {
	planted := flag.Int("planted", 0, "reads to change, one at a time; each must be found")
	seed := flag.Int64("seed", 1, "seed of the reads that are changed")
	flag.Parse()
	if flag.NArg() != 1 {
		refuse(errors.New("name one history; `-help` has the flags"))
	}
	input, err := os.Open(flag.Arg(0))
	if err != nil {
		refuse(err)
	}
	defer input.Close()
	began := time.Now()
	judge := judge{sample: *planted * 10, random: rand.New(rand.NewSource(*seed))}
	objects, err := judge.file(input)
	if err != nil {
		refuse(fmt.Errorf("%s: %w", flag.Arg(0), err))
	}
	said := "every history is linearizable"
	if judge.failed > 0 {
		said = fmt.Sprintf("%d histories are NOT linearizable", judge.failed)
	}
	fmt.Printf("%d operations (%d without an answer) on %d objects in %d rounds, at most %d on one; %.1f s: %s\n",
		judge.operations, judge.unanswered, objects, judge.rounds, judge.largest, time.Since(began).Seconds(), said)
	found, err := judge.plant(*planted)
	if err != nil {
		refuse(err)
	}
	if *planted > 0 {
		fmt.Printf("%d of %d planted reads found\n", found, *planted)
	}
	if judge.failed > 0 || found < *planted {
		os.Exit(1)
	}
}

func refuse(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(2)
}
