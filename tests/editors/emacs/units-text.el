;;; units-text.el --- Unit tests of the Emacs package  -*- lexical-binding: t; -*-
;;; Commentary:
;; Text in buffers: positions, writing, transcripts, differences and references.
;;; Code:
(require 'units)

;;; Positions

(ert-deftest units-a-position-counts-units-of-utf-16 ()
  (units-with "a\n😀 ö x\n"
    (goto-char (point-min))
    (search-forward "ö")
    (should (equal (jumpseat-region--to-position (point)) '(:line 1 :character 4)))
    (should (= (point) (jumpseat--region-find '(:line 1 :character 4))))))

(ert-deftest units-a-position-in-a-narrowed-buffer-counts-from-the-start-of-the-whole ()
  (units-with "a\nb\nc\n"
    (narrow-to-region 3 5)
    (should (equal (jumpseat-region--to-position 5) '(:line 2 :character 0)))
    (should (equal (plist-get (jumpseat--region-block 1 2) :text) "a"))))

(ert-deftest units-a-uri-has-its-unusual-characters-encoded ()
  (should (equal (jumpseat--region-uri "/tmp/a b#ö.py") "file:///tmp/a%20b%23%C3%B6.py"))
  (should-not (jumpseat--region-uri nil)))

(ert-deftest units-the-uri-of-a-remote-file-names-its-machine ()
  (should (equal (jumpseat--region-uri "/ssh:mona@example.org:/home/mona/a b.py")
                 "ssh://mona@example.org/home/mona/a%20b.py"))
  (should (equal (jumpseat--region-uri "/scp:web:/srv/a.py") "scp://web/srv/a.py")))

(ert-deftest units-conversations-of-a-remote-directory-are-refused ()
  (let ((default-directory "/ssh:example.org:/home/mona/"))
    (should-error (jumpseat-history nil t) :type 'user-error)))

(ert-deftest units-languages-have-the-names-of-lsp ()
  (should (equal (mapcar #'jumpseat--region-language
                         '(python-mode python-ts-mode sh-mode emacs-lisp-mode c++-mode text-mode))
                 '("python" "python" "shellscript" "elisp" "cpp" nil))))

;;; The writer

(ert-deftest units-an-answer-is-one-step-of-undo-despite-undo-boundaries ()
  (units-with "Question"
    (undo-boundary)
    (let ((writer (jumpseat--writer-new (point-max))))
      (dolist (each '("\n\none " "two " "three"))
        (jumpseat--writer-append writer each)
        ;; As the command loop and timers do.
        (undo-boundary))
      (jumpseat--writer-close writer)
      (should (equal (buffer-string) "Question\n\none two three"))
      (primitive-undo 1 (cdr buffer-undo-list))
      (should (equal (buffer-string) "Question")))))

(ert-deftest units-what-is-typed-behind-a-piece-stays-behind-it ()
  (units-with "Q"
    (let ((writer (jumpseat--writer-new (point-max))))
      (jumpseat--writer-append writer " one")
      (goto-char (point-max))
      (insert " typed")
      (jumpseat--writer-append writer " two")
      (should (equal (buffer-string) "Q one two typed"))
      (should (= (point) (point-max))))))

(ert-deftest units-a-piece-is-replaced-only-if-no-user-has-edited-it ()
  (units-with "Q"
    (let ((writer (jumpseat--writer-new (point-max))))
      (jumpseat--writer-append writer " one\r\n two")
      (should (jumpseat--writer-replace writer " one\n three"))
      (should (equal (buffer-string) "Q one\n three"))
      (should (jumpseat--writer-replace writer ""))
      (should (equal (buffer-string) "Q"))
      (jumpseat--writer-append writer " four")
      (goto-char 3)
      (insert "x")
      (should-not (jumpseat--writer-replace writer " five"))
      (should (equal (buffer-string) "Q xfour")))))

(ert-deftest units-a-buffer-without-undo-stays-without-it ()
  (units-with "Q"
    (buffer-disable-undo)
    (let ((writer (jumpseat--writer-new (point-max))))
      (jumpseat--writer-append writer " one")
      (jumpseat--writer-append writer " two")
      (jumpseat--writer-close writer)
      (should (equal (buffer-string) "Q one two"))
      (should (eq buffer-undo-list t)))))

;;; Transcripts

(ert-deftest units-front-matter-ends-after-its-second-line-of-dashes ()
  (units-with "---\nmodel: a:b\n---\n\n## Me\n\n---\n"
    (should (= 20 (jumpseat--transcript-front-matter-end)))
    (should (equal (jumpseat--transcript-model) "a:b")))
  (units-with "## Me\n\n---\nmodel: a:b\n---\n"
    (should (= 1 (jumpseat--transcript-front-matter-end)))
    (should-not (jumpseat--transcript-model)))
  (units-with "---\nmodel: a:b\n" (should (= 1 (jumpseat--transcript-front-matter-end)))))

(ert-deftest units-front-matter-is-put-in-the-place-of-the-old ()
  (units-with "---\nmodel: a:b\n---\n\n## Me\n"
    (jumpseat--transcript-put-front-matter "---\nmodel: a:c\n---\n")
    (should (equal (buffer-string) "---\nmodel: a:c\n---\n\n## Me\n")))
  (units-with "## Me\n"
    (jumpseat--transcript-put-front-matter "---\nmodel: a:c\n---\n")
    (should (equal (buffer-string) "---\nmodel: a:c\n---\n\n## Me\n"))))

;;; Edits

(ert-deftest units-a-difference-is-in-hunks-of-lines ()
  (should (equal (jumpseat--hunks-compute "a\nb\nc\nd\ne\n" "a\nX\nc\nY\nd\n")
                 '((2 4 2 4) (6 6 6 8) (8 10 10 10))))
  ;; Lines that are there more than once, and lines that have changed their places.
  (should (equal (jumpseat--hunks-compute "(\na\n)\n(\nb\n)\n" "(\na\n)\n(\nX\n)\n(\nb\n)\n")
                 '((8 8 8 14))))
  (should (equal (jumpseat--hunks-compute "a\nb\nc\n" "c\na\nb\n") '((0 0 0 2) (4 6 6 6))))
  (should (equal (jumpseat--hunks-compute "a" "a\n") '((0 1 0 2))))
  (should (equal (jumpseat--hunks-compute "" "a\n") '((0 0 0 2))))
  (should (equal (jumpseat--hunks-compute "a\n" "") '((0 2 0 0))))
  (should-not (jumpseat--hunks-compute "a\na\n" "a\na\n")))

(ert-deftest units-a-preview-shows-each-hunk-at-its-lines ()
  (units-with "a\nb\nc\nd\n"
    (jumpseat--hunks-show 1 (jumpseat--hunks-compute (buffer-string) "X\nb\nc\nd\nY\n") "X\nb\nc\nd\nY\n" 'preview)
    (should (equal (mapcar (lambda (each)
                             (list (overlay-start each) (overlay-end each)
                                   (substring-no-properties (overlay-get each 'after-string))))
                           (jumpseat--hunks-find-shown))
                   '((1 3 "X\n") (9 9 "Y\n"))))))

(ert-deftest units-a-fence-around-an-answer-is-not-shown ()
  (should (equal (jumpseat-preview--remove-fence "```python\nx = 1\n```\n") "x = 1\n"))
  (should (equal (jumpseat-preview--remove-fence "x = 1\n") "x = 1\n")))

;;; References

(ert-deftest units-only-words-are-references ()
  (cl-letf (((symbol-function 'jumpseat-references--build-block) #'identity))
    (should (equal (jumpseat-references--build-blocks "See @buffer, @file:a/b.py. Mail me@buffer.org @other")
                   '("@buffer" "@file:a/b.py")))))

(provide 'units-text)
;;; units-text.el ends here
